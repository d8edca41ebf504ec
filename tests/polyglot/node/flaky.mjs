// A TCP proxy that hangs up on the first calls: what a client sees when a server dies under it.
import { once } from "node:events";
import { connect, createServer } from "node:net";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length;
const FRAME_HEADER = 9;
const HEADERS = 1;

// Forwards to `port`, but closes each of the first `failures` connections as soon as a call begins on it.
export async function flaky(port, failures) {
  const proxy = { seen: 0 };
  const open = new Set();
  const listener = createServer((client) => {
    const hangUp = ++proxy.seen <= failures;
    const server = connect(port, "127.0.0.1");
    const close = () => [client, server].forEach((socket) => socket.destroy());
    let seen = Buffer.alloc(0);
    client.on("data", (data) => {
      if (hangUp) seen = Buffer.concat([seen, data]);
      if (hangUp && beginsACall(seen)) close();
      else server.write(data);
    });
    server.on("data", (data) => client.write(data));
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", close).on("close", close);
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  proxy.address = `127.0.0.1:${listener.address().port}`;
  proxy.stop = () => {
    open.forEach((socket) => socket.destroy());
    listener.close();
  };
  return proxy;
}

// Whether what a client sent so far has a HEADERS frame.
function beginsACall(sent) {
  for (let at = PREFACE; at + FRAME_HEADER <= sent.length; at += FRAME_HEADER + sent.readUIntBE(at, 3))
    if (sent[at + 3] === HEADERS) return true;
  return false;
}
