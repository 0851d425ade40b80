// Starts the gateway of SQSGATE_BIN on free ports, with a store of its own.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SQSClient } from "@aws-sdk/client-sqs";

export async function startServer() {
  const dir = await mkdtemp(join(tmpdir(), "sqsgate-npm-"));
  const ready = join(dir, "ready.json");
  const child = spawn(process.env.SQSGATE_BIN, [
    "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--topic-listen", "127.0.0.1:0",
    "--data-dir", join(dir, "data"), "--ready-file", ready, "--log-level", "warn",
  ], { stdio: ["ignore", "inherit", "inherit"] });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  let addresses;
  for (let i = 0; i < 300 && !addresses; i++) {
    if (child.exitCode !== null) throw new Error(`sqsgate ended with ${child.exitCode}`);
    addresses = await readFile(ready, "utf8").then(JSON.parse).catch(() => undefined);
    if (!addresses) await sleep(50);
  }
  if (!addresses) throw new Error("sqsgate is not ready after 15 s");
  const client = new SQSClient({
    endpoint: `http://${addresses.sqs}`,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    maxAttempts: 1,
  });
  return {
    client,
    async stop() {
      client.destroy();
      child.kill("SIGTERM");
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
