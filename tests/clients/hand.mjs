// A game backend, as small as it can be: it plays one hand of Crazy Pineapple in real time, lets
// players go missing on their turns, and does what seatwarden decides for them.
//
//   node hand.mjs amqp://user:password@host/vhost [FILE]
//
// Prints each decision received, one line of JSON. With FILE, the events sent stand there in the
// order of sending, for `seatwarden simulate FILE`. Exits 0 when all expected decisions have come.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import amqp from 'amqplib';

const [url, file] = process.argv.slice(2);
const QUEUE = 'ring-engines.decisions'; // ours: one for each kind of backend that acts on decisions
const TABLE = 'ring-1';
const hand_id = `h${Date.now()}`; // turn ids, made of it, must never be used again at this table

// -- Slots: which of the 256 shares of all tables a table belongs to

function crc32(text) { // Node 20.15 and later have it as zlib.crc32
  let crc = ~0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
const routingKey = `${crc32(TABLE) % 256}.${TABLE}`;

// -- The connection: made anew, with everything on it, whenever it or its channel is lost

let channel;
const returned = new Set(); // ids of events that no queue took

async function setUp(connection) {
  connection.on('error', () => {}); // said, and dealt with, by the connection that recovers
  const fresh = await connection.createConfirmChannel();
  const giveUp = () => connection.close().catch(() => {});
  fresh.on('error', giveUp);
  fresh.on('return', (message) => returned.add(message.properties.messageId));
  await fresh.assertQueue(QUEUE, { durable: true });
  await fresh.bindQueue(QUEUE, 'seatwarden.decisions', 'decision.made.#');
  await fresh.consume(QUEUE, (message) => (message ? decided(fresh, message) : giveUp()));
  channel = fresh;
}

// -- Events out: one event, with one id and one time, until a queue has it for certain

async function publish(type, subject, data, source = '/engines/ring-1') {
  const what = { type: `seatwarden.${type}.v1`, time: new Date().toISOString(), subject, data };
  const event = { specversion: '1.0', id: randomUUID(), source, ...what };
  if (file) appendFileSync(file, `${JSON.stringify(event)}\n`);
  while (!(await isConfirmed(event))) await sleep(200);
}

function isConfirmed(event) {
  const contentType = 'application/cloudevents+json';
  const options = { persistent: true, mandatory: true, messageId: event.id, contentType };
  const body = Buffer.from(JSON.stringify(event));
  return new Promise((resolve) => {
    // What no queue takes is returned, and confirmed after that: a confirm alone says nothing.
    const answered = (error) => resolve(!returned.delete(event.id) && !error);
    try {
      channel.publish('seatwarden.events', routingKey, body, options, answered);
    } catch {
      resolve(false); // this channel is gone, and another on its way
    }
  });
}

// -- Decisions in: each may come twice, and may come for a turn that has been closed meanwhile

const seen = new Set(); // a real backend keeps the ids with its hands
const openTurns = new Map(); // by turn_id: whom to tell that the turn is closed

async function decided(from, message) {
  const decision = JSON.parse(message.content);
  if (!seen.has(decision.id)) {
    seen.add(decision.id);
    console.log(JSON.stringify(decision));
    const { seat, turn_id, action, rule } = decision.data;
    await close(seat, turn_id, action, 'decision', rule);
  }
  try {
    from.ack(message);
  } catch {
    // That channel is gone: the message comes again on the next one, and is known then.
  }
}

/** Close a turn, once: the engine has the last word, so who comes first here has acted. */
async function close(seat, turn_id, action, by, rule) {
  const tell = openTurns.get(turn_id);
  if (!openTurns.delete(turn_id)) return;
  await publish('turn.acted', `${TABLE}/${seat}`, { hand_id, turn_id, action, by });
  tell(rule);
}

// -- The game

/** Open a turn, let `during` happen in it, and return the rule of its decision, if one was made. */
async function turn(seat, data, during = () => {}) {
  const turn_id = randomUUID();
  const closed = new Promise((resolve) => openTurns.set(turn_id, resolve));
  const game = { format: 'cash', variant: 'crazy_pineapple', turn_seconds: 1 };
  const ids = { hand_id, turn_id, player_id: `p${seat}` };
  await publish('turn.started', `${TABLE}/${seat}`, { ...ids, ...game, ...data });
  await during(turn_id);
  return closed;
}

const bet = (to_call, contributed, pot) => ({ to_call, contributed, pots: [pot], big_blind: 100 });
const discard = (...cards) => ({ kind: 'discard', cards });

function presence(word, seat) {
  const session_id = `${hand_id}-${seat}`; // new for each socket
  const data = { player_id: `p${seat}`, session_id };
  return publish(`player.${word}`, `${TABLE}/${seat}`, data, '/gateways/eu-1');
}

async function hand() {
  for (const seat of [1, 2, 3, 4, 5]) await presence('connected', seat);
  await presence('disconnected', 2);

  // Blinds of 50 and 100 in seats 4 and 5. Seat 1 calls, 2 is away, 3 is there and says nothing.
  const calls = (turn_id) => sleep(300).then(() => close(1, turn_id, 'call', 'player'));
  const rules = [await turn(1, bet(100, 0, 150), calls)];
  rules.push(await turn(2, bet(100, 0, 250)));
  rules.push(await turn(3, bet(100, 0, 250)));
  // The small blind is lost on his turn, with money in the pot: turn, buffer, grace; 1 + 3 + 15 s.
  rules.push(await turn(4, bet(50, 50, 250), () => presence('disconnected', 4)));
  rules.push(await turn(5, bet(0, 100, 250), () => presence('disconnected', 5)));

  // The flop is checked through. Then two discards at once: seat 1 has chosen, seat 5 is away.
  const chooses = () => publish('card.chosen', `${TABLE}/1`, { hand_id, card: '7c' });
  const first = turn(1, discard('7c', 'Kd', 'Kh'), chooses);
  rules.push(...(await Promise.all([first, turn(5, discard('#1', '#2', '#3'))])));
  await publish('hand.ended', TABLE, { hand_id });
  return rules.filter(Boolean).join(' ');
}

const EXPECTED =
  'nothing-in-pot turn-timeout grace-expired check-available chosen-card rightmost-card';

setTimeout(() => { console.error('no decision for too long'); process.exit(1); }, 60_000).unref();

const address = new URL(url);
address.searchParams.set('heartbeat', '5'); // so that a lost broker is noticed while it matters
const recovery = { maxDelay: 2000, setup: setUp, waitForConnect: false };
const connection = await amqp.connect(address.href, { recovery });
connection.on('connect-failed', (error) => console.error(`trying again: ${error.message}`));
connection.on('error', (error) => console.error(error.message));
await connection.waitForConnect();
const rules = await hand();
await connection.close();

if (rules !== EXPECTED) console.error(`expected ${EXPECTED}, got ${rules}`);
process.exitCode = rules === EXPECTED ? 0 : 1;
