// What Headlamp's backend does as far as the plugin needs it: serves the frontend and the plugin,
// and passes requests on to API servers, here through `kubectl proxy`.

import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Serves folder and the plugin. clusters has the port of the proxy for each. Returns the server's URL. */
export async function serve(folder, plugin, clusters) {
  const target = url => {
    const [, name, rest] = url.match(/^\/clusters\/([^/]+)(\/.*)$/) ?? [];
    return clusters[name] && { host: '127.0.0.1', port: clusters[name], path: rest };
  };
  const server = http.createServer((request, response) => {
    const to = target(request.url);
    if (to) {
      const headers = { ...request.headers, host: `${to.host}:${to.port}` };
      const passed = http.request({ ...to, method: request.method, headers }, answer => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      passed.on('error', error => response.writeHead(502).end(error.message));
      return request.pipe(passed);
    }
    const { pathname } = new URL(request.url, 'http://localhost');
    if (pathname === '/config') {
      return response.end(
        JSON.stringify(Object.fromEntries(Object.keys(clusters).map(name => [name, { name }])))
      );
    }
    const file =
      pathname === '/plugin/main.js' ? plugin : path.join(folder, path.normalize(pathname));
    const found =
      fs.existsSync(file) && fs.statSync(file).isFile() ? file : path.join(folder, 'index.html');
    response.setHeader('Content-Type', types[path.extname(found)] ?? 'application/octet-stream');
    fs.createReadStream(found).pipe(response);
  });
  server.on('upgrade', (request, socket, head) => {
    const to = target(request.url);
    const passed = net.connect(to?.port ?? 0, '127.0.0.1', () => {
      const headers = { ...request.headers, host: `${to.host}:${to.port}` };
      passed.write(
        `GET ${to.path} HTTP/1.1\r\n${Object.entries(headers)
          .map(([k, v]) => `${k}: ${v}\r\n`)
          .join('')}\r\n`
      );
      passed.write(head);
      passed.pipe(socket).pipe(passed);
    });
    passed.on('error', () => socket.destroy());
    socket.on('error', () => passed.destroy());
  });
  await new Promise(ready => server.listen(0, '127.0.0.1', ready));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
