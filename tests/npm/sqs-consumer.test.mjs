// sqs-consumer: a poller that deletes what was handled and leaves the rest to its
// visibility timeout, in batches.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { startServer } from "./server.mjs";

let server;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

async function queueOf(name, bodies) {
  const { QueueUrl } = await server.client.send(new CreateQueueCommand({ QueueName: name }));
  for (let i = 0; i < bodies.length; i += 10) {
    const Entries = bodies.slice(i, i + 10).map((MessageBody, n) => ({ Id: `${n}`, MessageBody }));
    await server.client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  }
  return QueueUrl;
}

// consume runs a consumer until it has done its work.
function consume(options) {
  return new Promise((resolve, reject) => {
    const consumer = Consumer.create({ sqs: server.client, waitTimeSeconds: 2, suppressFifoWarning: true, ...options });
    consumer.on("error", reject);
    consumer.on("timeout_error", reject);
    consumer.on("empty", () => {
      consumer.once("stopped", resolve);
      consumer.stop();
    });
    consumer.start();
  });
}

async function left(QueueUrl) {
  const { Attributes } = await server.client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  return Number(Attributes.ApproximateNumberOfMessages) + Number(Attributes.ApproximateNumberOfMessagesNotVisible);
}

test("every message is handled once and deleted", async () => {
  const bodies = Array.from({ length: 35 }, (_, i) => `m${i}`);
  const queueUrl = await queueOf("all", bodies);
  const seen = [];
  await consume({ queueUrl, batchSize: 10, handleMessage: async (m) => { seen.push(m.Body); return m; } });
  assert.deepEqual(seen.toSorted(), bodies.toSorted());
  assert.equal(await left(queueUrl), 0);
});

test("a failed message comes again", async () => {
  const queueUrl = await queueOf("again", ["good", "bad"]);
  const counts = [];
  let failed = false;
  await new Promise((resolve, reject) => {
    const consumer = Consumer.create({
      sqs: server.client, queueUrl, batchSize: 10, waitTimeSeconds: 2, terminateVisibilityTimeout: true,
      messageSystemAttributeNames: ["ApproximateReceiveCount"],
      handleMessage: async (m) => {
        counts.push([m.Body, m.Attributes.ApproximateReceiveCount]);
        if (m.Body === "bad" && !failed) {
          failed = true;
          throw new Error("not now");
        }
        return m;
      },
    });
    consumer.on("error", reject);
    consumer.on("empty", () => {
      consumer.once("stopped", resolve);
      consumer.stop();
    });
    consumer.start();
  });
  assert.deepEqual(counts.toSorted(), [["bad", "1"], ["bad", "2"], ["good", "1"]]);
  assert.equal(await left(queueUrl), 0);
});

// 3.5 s: longer than the visibility timeout, and between two heartbeats.
test("batches, with a heartbeat", async () => {
  const bodies = Array.from({ length: 12 }, (_, i) => `b${i}`);
  const queueUrl = await queueOf("batch", bodies);
  const seen = [];
  await consume({
    queueUrl, batchSize: 10, visibilityTimeout: 3, heartbeatInterval: 1,
    handleMessageBatch: async (messages) => {
      await new Promise((done) => setTimeout(done, 3500));
      seen.push(...messages.map((m) => m.Body));
      return messages;
    },
  });
  assert.deepEqual(seen.toSorted(), bodies.toSorted());
  assert.equal(await left(queueUrl), 0);
});
