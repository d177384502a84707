//! A headless Chromium that stays open, driven over its own debugging protocol (a WebSocket on loopback): for
//! pages that go on in real time.

use crate::process::{Process, text_of, wait_until};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tempfile::TempDir;

/// One tab.
pub struct Tab {
    socket: TcpStream,
    next_id: u64,
    /// Errors and warnings of the console, and exceptions that nobody caught.
    pub console: Vec<String>,
    _browser: Process,
    _home: TempDir,
}

impl Tab {
    /// An empty tab, whose console is listened to. On a busy machine a browser may take longer to start than a
    /// short run to end, so it comes first.
    pub fn open(width: u32) -> Self {
        crate::need("chromium");
        let home = crate::scratch();
        let said = home.path().join("said");
        let flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update \
                     --disable-sync --no-first-run --disable-dev-shm-usage --remote-debugging-port=0 about:blank";
        let argv = std::iter::once("chromium".to_owned())
            .chain(flags.split_whitespace().map(str::to_owned))
            .chain([format!("--user-data-dir={}", home.path().join("profile").display())])
            .chain([format!("--window-size={width},900")]);
        let browser = Process::start(&argv.collect::<Vec<_>>(), |command| {
            command.stdout(std::process::Stdio::null());
            command.stderr(std::fs::File::create(&said).expect("a scratch file"));
        });
        wait_until("the browser", || text_of(&said).contains("ws://127.0.0.1:"));
        let text = text_of(&said);
        let port: u16 = text
            .split("ws://127.0.0.1:")
            .nth(1)
            .and_then(|rest| rest.split('/').next())
            .and_then(|port| port.parse().ok())
            .expect("the browser says its port");
        let list = http_body(port, "GET /json/list");
        let tabs: Value = serde_json::from_str(&list).expect("a list of tabs");
        let page = tabs.as_array().into_iter().flatten().find(|tab| tab["type"] == "page").expect("a tab");
        let address = page["webSocketDebuggerUrl"].as_str().expect("an address");
        let path = address.splitn(4, '/').nth(3).expect("a path");
        let socket = shake_hands(port, path);
        let mut tab = Self { socket, next_id: 0, console: Vec::new(), _browser: browser, _home: home };
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            tab.call(domain, json!({}));
        }
        tab
    }

    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// The value of an expression in the page; it may be a promise.
    pub fn eval(&mut self, expression: &str) -> Value {
        let arguments = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.call("Runtime.evaluate", arguments)["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) {
        wait_until(expression, || self.eval(expression) == true);
    }

    fn call(&mut self, method: &str, arguments: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        send(&mut self.socket, &json!({ "id": id, "method": method, "params": arguments }).to_string());
        loop {
            let message: Value = serde_json::from_str(&receive(&mut self.socket)).expect("messages are JSON");
            if message["id"] == id {
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let told = &message["params"];
        let is_bad = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => {
                ["error", "warning"].iter().any(|level| told["entry"]["level"] == *level)
            }
            Some("Runtime.consoleAPICalled") => told["type"] == "error",
            _ => false,
        };
        if is_bad {
            self.console.push(told.to_string());
        }
    }
}

fn http_body(port: u16, what: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
    write!(socket, "{what} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").expect("a request");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // Until the head and as many bytes of the body as it says have come: the browser may keep the connection.
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.and_then(|text| text.trim().parse().ok()).expect("a length");
            if body.len() >= length {
                return body.to_owned();
            }
        }
        let count = socket.read(&mut buffer).expect("an answer");
        assert!(count > 0, "the browser closed early: {text}");
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// RFC 6455 §4.1; the key need not be random here.
fn shake_hands(port: u16, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    write!(
        socket,
        "GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    .expect("a request");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    socket
}

/// One text frame, masked with zeros (§5.3).
fn send(socket: &mut TcpStream, text: &str) {
    let mut frame = vec![0x81];
    match text.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    socket.write_all(&frame).expect("the browser reads");
}

/// One message, of one frame or several (§5.4).
fn receive(socket: &mut TcpStream) -> String {
    let mut message = Vec::new();
    loop {
        let mut head = [0; 2];
        socket.read_exact(&mut head).expect("the browser answers");
        let length = match head[1] & 0x7f {
            126 => {
                let mut bytes = [0; 2];
                socket.read_exact(&mut bytes).expect("a length");
                u64::from(u16::from_be_bytes(bytes))
            }
            127 => {
                let mut bytes = [0; 8];
                socket.read_exact(&mut bytes).expect("a length");
                u64::from_be_bytes(bytes)
            }
            short => u64::from(short),
        };
        let mut body = vec![0; usize::try_from(length).expect("a length")];
        socket.read_exact(&mut body).expect("a whole frame");
        match head[0] & 0x0f {
            0 | 1 => message.extend(body),
            // Pings and the like.
            _ => continue,
        }
        if head[0] & 0x80 != 0 {
            return String::from_utf8(message).expect("text is UTF-8");
        }
    }
}
