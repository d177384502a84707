//! Names to addresses, by the host's own `getaddrinfo`, on threads of their own: the loops never wait for it.

use rustix::fd::OwnedFd;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Look-ups that may be under way at once; one slow name does not hold up the others.
const THREADS: usize = 4;

/// A question, and where its answer goes.
struct Question {
    host: Box<str>,
    port: u16,
    answer_to: Sender<Answer>,
    waker: Arc<OwnedFd>,
}

/// What came of a question. The addresses are in `getaddrinfo`'s order (RFC 6724).
#[derive(Debug)]
pub struct Answer {
    pub host: Box<str>,
    pub port: u16,
    pub result: Result<Vec<SocketAddr>, String>,
}

/// Shared by all threads of a run. Its threads end when it is dropped and their look-up is over.
#[derive(Clone)]
pub struct Resolver {
    questions: Sender<Question>,
}

/// One loop's end of the resolver.
pub struct Asker {
    resolver: Resolver,
    waker: Arc<OwnedFd>,
    answer_to: Sender<Answer>,
    answers: Receiver<Answer>,
}

impl Resolver {
    pub fn start() -> std::io::Result<Self> {
        let (questions, inbox) = channel::<Question>();
        let inbox = Arc::new(Mutex::new(inbox));
        for index in 0..THREADS {
            let inbox = inbox.clone();
            std::thread::Builder::new()
                .name(format!("tare-names-{index}"))
                .stack_size(256 * 1024)
                .spawn(move || serve(&inbox))?;
        }
        Ok(Self { questions })
    }

    /// `waker` is written to when an answer is there.
    pub fn asker(&self, waker: OwnedFd) -> Asker {
        let (answer_to, answers) = channel();
        Asker { resolver: self.clone(), waker: Arc::new(waker), answer_to, answers }
    }
}

impl Asker {
    pub fn ask(&self, host: &str, port: u16) {
        let question = Question {
            host: host.into(),
            port,
            answer_to: self.answer_to.clone(),
            waker: self.waker.clone(),
        };
        // If the threads are gone the run is over, and no answer is wanted.
        let _ = self.resolver.questions.send(question);
    }

    /// An answer that has come, without waiting.
    pub fn answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn serve(inbox: &Mutex<Receiver<Question>>) {
    loop {
        let question = inbox.lock().map(|inbox| inbox.recv());
        let Ok(Ok(question)) = question else { return };
        let result = look_up(&question.host, question.port);
        let answer = Answer { host: question.host, port: question.port, result };
        // A loop that has ended wants no answer.
        if question.answer_to.send(answer).is_ok() {
            let _ = rustix::io::write(&*question.waker, &1u64.to_ne_bytes());
        }
    }
}

/// Blocks. `Err` in the words of the host's resolver.
pub fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found: Vec<_> = (host, port).to_socket_addrs().map_err(|error| error.to_string())?.collect();
    if found.is_empty() { Err("no address".to_owned()) } else { Ok(found) }
}
