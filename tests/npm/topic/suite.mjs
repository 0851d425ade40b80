// The topic client of ydb-sdk, which shares no code with the Go SDK, against
// `sqsgate topicd`. The file has no name that `node --test` finds by itself: it
// has its own dependencies.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import ydbSdk from "ydb-sdk";

const { Driver, AnonymousAuthService, Ydb } = ydbSdk;
const SUCCESS = Ydb.StatusIds.StatusCode.SUCCESS;
const consumer = "c";

let dir, child, exited, driver, topics;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), "sqsgate-npm-topic-"));
  const ready = join(dir, "ready.json");
  child = spawn(process.env.SQSGATE_BIN, [
    "topicd", "--topic-listen", "127.0.0.1:0", "--data-dir", join(dir, "data"), "--ready-file", ready, "--log-level", "warn",
  ], { stdio: ["ignore", "inherit", "inherit"] });
  exited = new Promise((resolve) => child.once("exit", resolve));
  let addresses;
  for (let i = 0; i < 300 && !addresses; i++) {
    if (child.exitCode !== null) throw new Error(`sqsgate ended with ${child.exitCode}`);
    addresses = await readFile(ready, "utf8").then(JSON.parse).catch(() => undefined);
    if (!addresses) await sleep(50);
  }
  if (!addresses) throw new Error("sqsgate is not ready after 15 s");
  driver = new Driver({
    endpoint: `grpc://${addresses.topic}`, database: "/local", authService: new AnonymousAuthService(),
    poolSettings: { minLimit: "0", maxLimit: 1 }, // the number 0 would mean the default: no sessions of the table service
  });
  assert.ok(await driver.ready(10_000), "the driver is not ready");
  topics = driver.topic;
});

after(async () => {
  await driver?.destroy();
  child?.kill("SIGTERM");
  await exited;
  await rm(dir, { recursive: true, force: true });
});

const create = (path, partitions = 1) => topics.createTopic({
  path, partitioningSettings: { minActivePartitions: partitions }, consumers: [{ name: consumer }],
});

// write lets the client number the messages: it goes on after the last number of
// the producer that the server tells.
async function write(path, producerId, texts) {
  const writer = await topics.createWriter({ path, producerId, messageGroupId: producerId, getLastSeqNo: true });
  for (const [i, text] of texts.entries()) {
    await writer.send({
      codec: Ydb.Topic.Codec.CODEC_RAW,
      messages: [{
        data: Buffer.from(text), uncompressedSize: text.length, createdAt: { seconds: 1700000000 },
        metadataItems: [{ key: "n", value: Buffer.from(String(i)) }],
      }],
    });
  }
  await writer.close();
}

async function committed(path) {
  const res = await topics.describeConsumer({ path, consumer, includeStats: true });
  const d = Ydb.Topic.DescribeConsumerResult.decode(res.operation.result.value);
  return Number(d.partitions[0].partitionConsumerStats.committedOffset ?? 0);
}

const offset = (m) => Number(m.offset ?? 0); // 0 is not on the wire

// read returns n messages, committed. The client's commit() does not wait for
// the server's answer.
async function read(path, n) {
  const reader = await topics.createReader({ consumer, receiveBufferSizeInBytes: 1 << 20, topicsReadSettings: [{ path }] });
  const out = [];
  for await (const m of reader.messages) {
    out.push(m);
    await m.commit();
    if (out.length === n) break;
  }
  for (let i = 0; (await committed(path)) <= offset(out.at(-1)); i++) {
    assert.ok(i < 200, "the commit does not arrive");
    await sleep(25);
  }
  await reader.close(true);
  return out;
}

const text = (m) => Buffer.from(m.data).toString();

test("what is written is read, in order, with metadata", async () => {
  await create("/local/life", 1);
  await write("/local/life", "p", ["one", "two", "three"]);
  const got = await read("/local/life", 3);
  assert.deepEqual(got.map(text), ["one", "two", "three"]);
  assert.deepEqual(got.map(offset), [0, 1, 2]);
  assert.equal(Buffer.from(got[2].metadataItems[0].value).toString(), "2");
});

test("a reader goes on from what is committed", async () => {
  await create("/local/commit", 1);
  await write("/local/commit", "p", ["a", "b", "c"]);
  assert.deepEqual((await read("/local/commit", 2)).map(text), ["a", "b"]);
  assert.deepEqual((await read("/local/commit", 1)).map(text), ["c"]);
  const res = await topics.commitOffset({ path: "/local/commit", partitionId: 0, consumer, offset: 1 });
  assert.equal(res.operation.status, SUCCESS);
  assert.deepEqual((await read("/local/commit", 1)).map(text), ["b"]);
});

test("a writer goes on after its producer's last sequence number", async () => {
  await create("/local/numbers", 1);
  await write("/local/numbers", "p", ["a", "b"]);
  await write("/local/numbers", "p", ["c"]);
  await write("/local/numbers", "q", ["d"]);
  const got = await read("/local/numbers", 4);
  assert.deepEqual(got.map((m) => [text(m), m.producerId, Number(m.seqNo)]), [["a", "p", 1], ["b", "p", 2], ["c", "p", 3], ["d", "q", 1]]);
});

test("describe, alter and drop", async () => {
  await create("/local/described", 2);
  await topics.alterTopic({ path: "/local/described", addConsumers: [{ name: "d" }] });
  const topic = await topics.describeTopic({ path: "/local/described", includeStats: true });
  const d = Ydb.Topic.DescribeTopicResult.decode(topic.operation.result.value);
  assert.equal(d.partitions.length, 2);
  assert.deepEqual(d.consumers.map((c) => c.name), ["c", "d"]);
  const one = await topics.describeConsumer({ path: "/local/described", consumer: "d" });
  assert.equal(Ydb.Topic.DescribeConsumerResult.decode(one.operation.result.value).consumer.name, "d");
  await topics.dropTopic({ path: "/local/described" });
  const gone = await topics.describeTopic({ path: "/local/described" });
  assert.equal(gone.operation.status, Ydb.StatusIds.StatusCode.SCHEME_ERROR);
});
