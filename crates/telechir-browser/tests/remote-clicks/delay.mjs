// A proxy in front of a browser's DevTools port that delays each direction, as a network does. Arguments:
// the port, milliseconds one way. Prints its own port. `GET /commands` answers how many messages clients
// have sent.
import net from 'node:net';

const [port, delay] = process.argv.slice(2).map(Number);
let commands = 0;

// Calls `then` for each WebSocket frame of a client, whose head may come in pieces.
function frames(then) {
  let left = Buffer.alloc(0);
  let upgraded = false;
  return (chunk) => {
    left = Buffer.concat([left, chunk]);
    if (!upgraded) {
      const end = left.indexOf('\r\n\r\n');
      if (end < 0) return;
      upgraded = true;
      left = left.subarray(end + 4);
    }
    while (left.length >= 2) {
      let size = left[1] & 127;
      let head = 2 + (left[1] & 128 ? 4 : 0);
      if (size === 126) {
        if (left.length < 4) return;
        size = left.readUInt16BE(2);
        head += 2;
      } else if (size === 127) {
        if (left.length < 10) return;
        size = Number(left.readBigUInt64BE(2));
        head += 8;
      }
      if (left.length < head + size) return;
      if ((left[0] & 15) < 8) then();
      left = left.subarray(head + size);
    }
  };
}

function later(from, to, seen) {
  from.on('data', (chunk) => {
    seen?.(chunk);
    setTimeout(() => to.destroyed || to.write(chunk), delay);
  });
  from.on('close', () => setTimeout(() => to.destroy(), delay));
  from.on('error', () => to.destroy());
}

const server = net.createServer({ noDelay: true }, (client) => {
  client.once('data', (first) => {
    if (first.toString('latin1').startsWith('GET /commands ')) {
      const text = String(commands);
      client.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
      return;
    }
    const browser = net.connect({ port, host: '127.0.0.1', noDelay: true });
    const count = frames(() => commands++);
    later(client, browser, count);
    later(browser, client);
    client.emit('data', first);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
