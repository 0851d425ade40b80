// The AWS SDK for JavaScript. It verifies the MD5 of every body it sends and
// receives, and dispatches on the names of errors.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as sqs from "@aws-sdk/client-sqs";
import { startServer } from "./server.mjs";

let server;
let client;
before(async () => {
  server = await startServer();
  client = server.client;
});
after(() => server.stop());

const call = (name, input) => client.send(new sqs[`${name}Command`](input));

test("the life of a message", async () => {
  const { QueueUrl } = await call("CreateQueue", { QueueName: "life", Attributes: { VisibilityTimeout: "60" } });
  const body = "grüße, \u{1f600}\r\n<&>\"";
  const sent = await call("SendMessage", {
    QueueUrl, MessageBody: body,
    MessageAttributes: {
      text: { DataType: "String", StringValue: "é" },
      bytes: { DataType: "Binary", BinaryValue: new Uint8Array([0, 255]) },
    },
  });
  const { Messages } = await call("ReceiveMessage", {
    QueueUrl, WaitTimeSeconds: 5, MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"],
  });
  assert.equal(Messages.length, 1);
  const [message] = Messages;
  assert.equal(message.Body, body);
  assert.equal(message.MessageId, sent.MessageId);
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.deepEqual([...message.MessageAttributes.bytes.BinaryValue], [0, 255]);
  assert.equal(message.Attributes.ApproximateReceiveCount, "1");
  await call("ChangeMessageVisibility", { QueueUrl, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: 120 });
  await call("DeleteMessage", { QueueUrl, ReceiptHandle: message.ReceiptHandle });
  const { Attributes } = await call("GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
  assert.equal(Attributes.ApproximateNumberOfMessages, "0");
  assert.equal(Attributes.ApproximateNumberOfMessagesNotVisible, "0");
  assert.equal((await call("ReceiveMessage", { QueueUrl })).Messages, undefined);
});

test("batches", async () => {
  const { QueueUrl } = await call("CreateQueue", { QueueName: "batches" });
  const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `m${i}`, MessageBody: `body ${i}` }));
  Entries[3].DelaySeconds = 901;
  const sent = await call("SendMessageBatch", { QueueUrl, Entries });
  assert.equal(sent.Successful.length, 9);
  assert.deepEqual(sent.Failed.map((f) => [f.Id, f.Code, f.SenderFault]), [["m3", "InvalidParameterValue", true]]);
  const { Messages } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 });
  assert.equal(Messages.length, 9);
  const handles = Messages.map((m, i) => ({ Id: `${i}`, ReceiptHandle: m.ReceiptHandle }));
  const changed = await call("ChangeMessageVisibilityBatch", {
    QueueUrl, Entries: handles.map((e) => ({ ...e, VisibilityTimeout: 100 })),
  });
  assert.equal(changed.Successful.length, 9);
  const deleted = await call("DeleteMessageBatch", { QueueUrl, Entries: [...handles, { Id: "bad", ReceiptHandle: "x" }] });
  assert.equal(deleted.Successful.length, 9);
  assert.equal(deleted.Failed[0].Code, "ReceiptHandleIsInvalid");
});

test("FIFO order and deduplication", async () => {
  const { QueueUrl } = await call("CreateQueue", {
    QueueName: "order.fifo", Attributes: { FifoQueue: "true", ContentBasedDeduplication: "true" },
  });
  for (const body of ["1", "2", "2", "3"]) {
    const { SequenceNumber } = await call("SendMessage", { QueueUrl, MessageBody: body, MessageGroupId: "g" });
    assert.match(SequenceNumber, /^\d{20}$/);
  }
  const { Messages } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 });
  assert.deepEqual(Messages.map((m) => m.Body), ["1", "2", "3"]);
});

test("paginators", async () => {
  for (let i = 0; i < 7; i++) await call("CreateQueue", { QueueName: `page-${i}` });
  const found = [];
  for await (const page of sqs.paginateListQueues({ client, pageSize: 3 }, { QueueNamePrefix: "page-" })) {
    found.push(...page.QueueUrls);
  }
  assert.deepEqual(found.map((u) => u.split("/").pop()), [0, 1, 2, 3, 4, 5, 6].map((i) => `page-${i}`));
  const dead = await call("GetQueueUrl", { QueueName: "page-0" });
  const { Attributes } = await call("GetQueueAttributes", { QueueUrl: dead.QueueUrl, AttributeNames: ["QueueArn"] });
  for (const QueueUrl of found.slice(1)) {
    await call("SetQueueAttributes", {
      QueueUrl, Attributes: { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: Attributes.QueueArn, maxReceiveCount: 2 }) },
    });
  }
  let sources = 0;
  const pages = sqs.paginateListDeadLetterSourceQueues({ client, pageSize: 4 }, { QueueUrl: dead.QueueUrl });
  for await (const page of pages) sources += page.queueUrls.length;
  assert.equal(sources, 6);
});

test("tags and permissions", async () => {
  const { QueueUrl } = await call("CreateQueue", { QueueName: "tagged", tags: { team: "a" } });
  await call("TagQueue", { QueueUrl, Tags: { stage: "test" } });
  await call("UntagQueue", { QueueUrl, TagKeys: ["team"] });
  assert.deepEqual((await call("ListQueueTags", { QueueUrl })).Tags, { stage: "test" });
  await call("AddPermission", { QueueUrl, Label: "one", AWSAccountIds: ["111111111111"], Actions: ["SendMessage"] });
  const { Attributes } = await call("GetQueueAttributes", { QueueUrl, AttributeNames: ["Policy"] });
  assert.equal(JSON.parse(Attributes.Policy).Statement[0].Sid, "one");
  await call("RemovePermission", { QueueUrl, Label: "one" });
});

test("move tasks", async () => {
  const arn = (name) => `arn:aws:sqs:us-east-1:000000000000:${name}`;
  for (const name of ["grave", "heaven"]) await call("CreateQueue", { QueueName: name });
  const source = await call("CreateQueue", {
    QueueName: "mortal", Attributes: { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn("grave"), maxReceiveCount: 1 }) },
  });
  await call("SendMessage", { QueueUrl: source.QueueUrl, MessageBody: "soul" });
  for (let i = 0; i < 2; i++) await call("ReceiveMessage", { QueueUrl: source.QueueUrl, VisibilityTimeout: 0, WaitTimeSeconds: 1 });
  const started = await call("StartMessageMoveTask", { SourceArn: arn("grave"), DestinationArn: arn("heaven") });
  const { QueueUrl } = await call("GetQueueUrl", { QueueName: "heaven" });
  const { Messages } = await call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 10 });
  assert.equal(Messages[0].Body, "soul");
  let task;
  for (let i = 0; i < 100 && task?.Status !== "COMPLETED"; i++) {
    [task] = (await call("ListMessageMoveTasks", { SourceArn: arn("grave") })).Results;
  }
  assert.equal(task.Status, "COMPLETED");
  assert.equal(task.ApproximateNumberOfMessagesMoved, 1);
  assert.equal(task.TaskHandle, undefined);
  await assert.rejects(call("CancelMessageMoveTask", { TaskHandle: started.TaskHandle }), sqs.ResourceNotFoundException);
});

test("errors have their classes", async () => {
  await assert.rejects(call("GetQueueUrl", { QueueName: "nobody" }), (e) =>
    e instanceof sqs.QueueDoesNotExist && e.$metadata.httpStatusCode === 400 && e.$fault === "client");
  const { QueueUrl } = await call("CreateQueue", { QueueName: "errors" });
  await assert.rejects(call("CreateQueue", { QueueName: "errors", Attributes: { DelaySeconds: "5" } }), sqs.QueueNameExists);
  await assert.rejects(call("GetQueueAttributes", { QueueUrl, AttributeNames: ["Foobar"] }), sqs.InvalidAttributeName);
  await assert.rejects(call("DeleteMessage", { QueueUrl, ReceiptHandle: "x" }), sqs.ReceiptHandleIsInvalid);
  await assert.rejects(call("DeleteMessageBatch", { QueueUrl, Entries: [] }), sqs.EmptyBatchRequest);
  await assert.rejects(call("SendMessage", { QueueUrl, MessageBody: "\u0001" }), sqs.InvalidMessageContents);
  await call("DeleteQueue", { QueueUrl });
  await assert.rejects(call("PurgeQueue", { QueueUrl }), sqs.QueueDoesNotExist);
});

test("a long poll is woken", async () => {
  const { QueueUrl } = await call("CreateQueue", { QueueName: "poll" });
  const began = Date.now();
  const waiting = call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
  await call("SendMessage", { QueueUrl, MessageBody: "now", DelaySeconds: 1 });
  assert.equal((await waiting).Messages[0].Body, "now");
  assert.ok(Date.now() - began < 10_000);
});
