"""A proxy for clients that cannot send a token: `with_token.py URL TOKEN` prints its own address and passes requests on."""
import http.client
import http.server
import sys
import urllib.parse

TARGET, TOKEN = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2]
HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def passed_on(self):
        own = f"127.0.0.1:{self.server.server_port}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: value.replace(own, TARGET.netloc) for name, value in self.headers.items() if name.lower() not in HOP}
        headers["Authorization"] = f"Bearer {TOKEN}"
        server = http.client.HTTPConnection(TARGET.netloc, timeout=30)
        server.request(self.command, self.path, body, headers)
        answer = server.getresponse()
        text = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = passed_on

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
    proxy.handle_error = lambda *_: None  # a client that went away is none
    print(f"http://127.0.0.1:{proxy.server_port}{TARGET.path}", flush=True)
    proxy.serve_forever()
