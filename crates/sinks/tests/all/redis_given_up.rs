//! A batch of events that Redis refuses in its middle, after the connection broke.

use crate::redis::{begun, event};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Number and `seq` of each entry, in order.
type Entries = Arc<Mutex<Vec<(u64, String)>>>;

/// Entries that are taken until the connection breaks: one round of 512, and a part of the next.
const BEFORE_THE_BREAK: usize = 700;

/// As much of a Redis as the sink uses: its first connection breaks in the middle of a round, of which it has
/// taken a part by then; the first command of the second one is refused (the disk is full), the others are not.
fn breaking(taken: Entries) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let _ = serve(stream.unwrap(), number, &taken);
        }
    });
    port
}

/// Until the connection ends.
fn serve(mut stream: TcpStream, number: usize, taken: &Entries) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut is_full = number == 1;
    loop {
        let words = command(&mut reader)?;
        let mut taken = taken.lock().unwrap();
        if number == 0 && taken.len() == BEFORE_THE_BREAK {
            return Ok(());
        }
        let last = taken.last().map_or(0, |(id, _)| *id);
        let answer = match words[0].as_str() {
            "INFO" => "$21\r\nredis_version:7.0.0\r\n\r\n".to_owned(),
            "HSET" if std::mem::take(&mut is_full) => "-MISCONF Errors writing to the disk\r\n".to_owned(),
            "XADD" => match words[2].trim_end_matches("-0").parse::<u64>().unwrap() {
                id if id > last => {
                    let seq = words.iter().position(|word| word == "seq").unwrap() + 1;
                    taken.push((id, words[seq].clone()));
                    format!("${}\r\n{}\r\n", words[2].len(), words[2])
                }
                _ => "-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n"
                    .to_owned(),
            },
            "XINFO" => {
                let id = format!("{last}-0");
                let entries = taken.len();
                format!(
                    "*4\r\n$17\r\nlast-generated-id\r\n${}\r\n{id}\r\n$6\r\nlength\r\n:{entries}\r\n",
                    id.len()
                )
            }
            _ => ":1\r\n".to_owned(),
        };
        drop(taken);
        stream.write_all(answer.as_bytes())?;
    }
}

/// The words of a command: `*2 $4 INFO $6 server`, each with CRLF.
fn command(reader: &mut impl BufRead) -> io::Result<Vec<String>> {
    let words = number(reader)?;
    let word = |_| {
        let mut word = vec![0; number(reader)? + 2];
        reader.read_exact(&mut word)?;
        word.truncate(word.len() - 2);
        String::from_utf8(word).map_err(io::Error::other)
    };
    (0..words).map(word).collect()
}

fn number(reader: &mut impl BufRead) -> io::Result<usize> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    line.trim_end().trim_start_matches(['*', '$']).parse().map_err(io::Error::other)
}

#[test]
fn a_batch_given_up_in_its_middle_takes_nothing_from_the_next() {
    let taken = Entries::default();
    let port = breaking(taken.clone());
    let mut exporter = begun(&format!("redis://127.0.0.1:{port}/?events=1"));
    let batch = |from: u64, to: u64| (from..to).map(event).collect::<Vec<_>>();
    // Three rounds: the first is confirmed, the second breaks, and then Redis refuses to be written to.
    let first = batch(0, 1_500);
    let why = exporter.events(0, &first).unwrap_err();
    assert!(why.may_pass(), "{why}");
    exporter.events(0, &first).unwrap();
    let gone = exporter.gone();
    assert_eq!(gone.events, 1_500 - 512);
    assert!(gone.why.contains("cannot save them"), "{gone:?}");

    // It has recovered. What is smaller than the part that was done before is sent as well.
    exporter.events(0, &batch(1_500, 1_900)).unwrap();
    exporter.events(0, &batch(1_900, 3_000)).unwrap();
    exporter.flush().unwrap();
    assert_eq!(exporter.gone(), Default::default());
    let taken = taken.lock().unwrap();
    let seqs: Vec<u64> = taken.iter().map(|(_, seq)| seq.parse().unwrap()).collect();
    let expected: Vec<u64> = (0..BEFORE_THE_BREAK as u64).chain(1_500..3_000).collect();
    assert_eq!(seqs, expected);
    // Numbers 513 to 1 024 were on their way, so nothing else has them.
    assert_eq!(taken[BEFORE_THE_BREAK].0, 1_025);
}
