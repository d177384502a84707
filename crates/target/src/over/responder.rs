//! A TCP server without connections: what a segment asks for follows from the segment alone.
//!
//! ```text
//!  in                           out
//!  SYN seq s                    SYN+ACK seq h(addresses, ports), ack s + 1, MSS
//!  GET …\r\n\r\n seq s ack a    the response from seq a on, ack s + length
//!  a part of a request          ACK seq a, ack s + length
//!  FIN seq s ack a              FIN+ACK seq a, ack s + 1
//!  ACK, RST                     nothing
//! ```
//!
//! A request that comes again gets the same answer, so that a lost request or a lost response of one segment
//! is made good by the client. Of a response of several segments a lost one is not sent again: the client had
//! its request acknowledged by another.

use crate::over::OverError;
use crate::over::response::{MOST_PARTS, Response};
use crate::over::served::{Ignored, Served};
use memchr::memmem::Finder;
use port::{For, Frame, Port, PortError, Slot};
use station::{Family, Head, Mac, Outbox, Station, Taken};
use std::net::IpAddr;
use tcp::{Pair, Secret, Time};
use units::{Bytes, Instant, Picos};
use wire::ethernet;
use wire::tcp::{View, field, flag};

/// Frames that are received before their answers are sent.
const BATCH: usize = 256;
/// How long answers wait for room in the port, and how often.
const ROOM: Picos = Picos::from_millis(1);
const ROOMS: u32 = 100;
/// TCP's header, and with the MSS option.
const PLAIN: usize = wire::tcp::LENGTH;
const WITH_MSS: usize = PLAIN + 4;

/// What a responder answers with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Ports that are served; others are refused.
    pub ports: Vec<u16>,
    pub status: u16,
    pub size: Bytes,
    /// Repeated to fill the body, instead of the target's own pattern.
    pub body: Option<String>,
    /// Of the initial sequence numbers.
    pub seed: u64,
}

/// Answers on one port.
pub struct Responder {
    station: Station,
    out: Outbox,
    replies: Vec<Reply>,
    counts: Served,
    wit: Wit,
}

/// What answers are decided and written with.
struct Wit {
    ports: Vec<u16>,
    secret: Secret,
    /// By family, and whether the connection ends with it.
    responses: [[Response; 2]; 2],
    mss: [u16; 2],
    close: Finder<'static>,
    /// Room that was written by this responder and by no other has marks with this above them.
    nonce: u64,
}

/// One segment to send.
#[derive(Clone, Copy, Debug)]
struct Reply {
    mac: Mac,
    own: IpAddr,
    peer: IpAddr,
    ports: (u16, u16),
    seq: u32,
    ack: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    SynAck,
    Ack,
    FinAck,
    Reset { acknowledges: bool },
    Part { index: u8, close: bool },
}

impl Responder {
    /// # Errors
    /// `Size` for a response of too many segments.
    pub fn new(station: Station, settings: &Settings) -> Result<Self, OverError> {
        let (status, size, body) = (settings.status, settings.size, settings.body.as_deref());
        let mss = [Family::V4, Family::V6].map(|family| station.mss(family));
        let both = |mss| -> Result<_, OverError> {
            let response = |close| Response::new(status, size, body, close, mss);
            Ok([response(false)?, response(true)?])
        };
        let wit = Wit {
            ports: settings.ports.clone(),
            secret: Secret::new([settings.seed, 0x7461_7265_2e6f_7665]),
            responses: [both(mss[0])?, both(mss[1])?],
            mss: mss.map(|mss| mss as u16),
            close: Finder::new(b"close"),
            nonce: nonce(),
        };
        let replies = Vec::with_capacity(BATCH * MOST_PARTS);
        Ok(Self { station, out: Outbox::new(), replies, counts: Served::default(), wit })
    }

    pub const fn station(&self) -> &Station {
        &self.station
    }

    pub fn served(&self) -> Served {
        let bad = self.station.counters().all_bad().map(|(_, count)| count).sum();
        Served { bad, ..self.counts.clone() }
    }

    /// Looks for others that have the addresses, as [`Station::probe`]; handles what comes meanwhile.
    ///
    /// # Errors
    /// A duplicate, and those of the port.
    pub fn probe(&mut self, port: &mut dyn Port, now: impl Fn() -> Instant) -> Result<(), OverError> {
        while let station::Probing::Until(next) = self.station.probe(now(), &mut self.out)? {
            self.turn(port, now())?;
            while now() < next {
                port.wait(For::Receive, ROOM)?;
                self.turn(port, now())?;
            }
        }
        self.out.send(port)?;
        Ok(())
    }

    /// One batch: receives, answers, transmits. Returns how many frames came.
    ///
    /// # Errors
    /// Those of the port.
    pub fn turn(&mut self, port: &mut dyn Port, now: Instant) -> Result<usize, PortError> {
        let Self { station, out, replies, counts, wit } = self;
        let frames = port.receive(BATCH, &mut |frame| {
            if let Taken::Tcp(segment) = station.take(frame, now, out) {
                counts.segments += 1;
                wit.decide(frame, &segment, replies, counts);
            }
        })?;
        let sent = self.send(port);
        self.replies.clear();
        sent?;
        self.out.send(port)?;
        Ok(frames)
    }

    fn send(&mut self, port: &mut dyn Port) -> Result<(), PortError> {
        let Self { station, replies, counts, wit, .. } = self;
        let (mut at, mut rooms) = (0, 0);
        while at < replies.len() {
            let mut next = replies[at..].iter();
            let sent = port.transmit(replies.len() - at, &mut |slot| {
                if let Some(reply) = next.next() {
                    wit.write(station, reply, slot);
                }
            })?;
            at += sent;
            counts.answers += sent as u64;
            if sent == 0 && !port.wait(For::Transmit, ROOM)? {
                rooms += 1;
                if rooms == ROOMS {
                    counts.unsent += (replies.len() - at) as u64;
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Wit {
    /// What a segment is answered with.
    #[inline]
    fn decide(
        &self,
        frame: &Frame<'_>,
        segment: &station::Segment,
        replies: &mut Vec<Reply>,
        counts: &mut Served,
    ) {
        // A station gives segments with whole headers only.
        let Ok(view) = View::new(&frame.data[segment.range.clone()]) else { return };
        let (flags, payload) = (view.flags(), view.payload());
        let is = |bit: u8| flags & bit != 0;
        let from = &frame.data[ethernet::field::SOURCE];
        let fin = is(flag::FIN);
        let mut reply = Reply {
            mac: Mac(from.try_into().unwrap_or_default()),
            own: segment.destination,
            peer: segment.source,
            ports: (view.destination(), view.source()),
            seq: view.acknowledgment(),
            ack: view
                .sequence()
                .wrapping_add(payload.len() as u32)
                .wrapping_add(u32::from(fin) + u32::from(is(flag::SYN))),
            what: What::Ack,
        };
        let ignored = match (is(flag::RST), is(flag::SYN), is(flag::ACK)) {
            (true, _, _) => Some(Ignored::Rst),
            (_, true, true) => Some(Ignored::SynAck),
            (_, false, false) => Some(Ignored::NoAck),
            (_, false, true) if payload.is_empty() && !fin => Some(Ignored::Ack),
            _ => None,
        };
        if let Some(cause) = ignored {
            counts.ignored[cause as usize] += 1;
            return;
        }
        if !self.ports.contains(&reply.ports.0) {
            counts.refused += 1;
            reply.what = What::Reset { acknowledges: is(flag::SYN) };
        } else if is(flag::SYN) {
            counts.syns += 1;
            reply.seq = self.isn(&reply);
            reply.what = What::SynAck;
        } else if payload.ends_with(b"\r\n\r\n") {
            counts.requests += 1;
            counts.fins += u64::from(fin);
            let close = fin || self.wants_close(payload);
            let (first, response) = (reply.seq, self.response(reply.own, close));
            for (index, part) in response.parts().iter().enumerate() {
                let seq = first.wrapping_add(part.offset());
                replies.push(Reply { seq, what: What::Part { index: index as u8, close }, ..reply });
            }
            return;
        } else if fin {
            counts.fins += 1;
            reply.what = What::FinAck;
        } else {
            counts.partial += 1;
        }
        replies.push(reply);
    }

    fn isn(&self, reply: &Reply) -> u32 {
        let pair = Pair { local: (reply.own, reply.ports.0), remote: (reply.peer, reply.ports.1) };
        tcp::isn(&self.secret, &pair, Time::from_micros(0))
    }

    /// Whether the connection shall end with the response: `Connection: close`, or HTTP/1.0 without keep-alive.
    #[inline]
    fn wants_close(&self, request: &[u8]) -> bool {
        let line = memchr::memchr(b'\n', request).map_or(request, |end| &request[..end]);
        let is_old = line.ends_with(b"HTTP/1.0\r");
        (is_old && !has_option(request, b"keep-alive"))
            || (self.close.find(request).is_some() && has_option(request, b"close"))
    }

    #[inline]
    fn response(&self, own: IpAddr, close: bool) -> &Response {
        &self.responses[usize::from(own.is_ipv6())][usize::from(close)]
    }

    #[inline]
    fn write(&self, station: &Station, reply: &Reply, slot: &mut Slot<'_>) {
        let head = station.head(reply.own, reply.peer, reply.mac);
        let start = head.length();
        let bits = match reply.what {
            What::SynAck => flag::SYN | flag::ACK,
            What::Ack => flag::ACK,
            What::FinAck => flag::FIN | flag::ACK,
            What::Reset { acknowledges: true } => flag::RST | flag::ACK,
            What::Reset { acknowledges: false } => flag::RST,
            What::Part { .. } => flag::ACK,
        };
        let mark_before = std::mem::replace(slot.mark, 0);
        let (length, payload_sum, last) = match reply.what {
            What::SynAck => {
                let [high, low] = self.mss[usize::from(reply.own.is_ipv6())].to_be_bytes();
                slot.data[start + PLAIN..start + WITH_MSS].copy_from_slice(&[2, 4, high, low]);
                let sum = 0x0204 + u64::from(u16::from_be_bytes([high, low]));
                (WITH_MSS, sum, 0)
            }
            What::Part { index, close } => {
                let response = self.response(reply.own, close);
                let part = &response.parts()[usize::from(index)];
                let payload = response.payload(part);
                let mark = self.nonce
                    | u64::from(index) << 2
                    | u64::from(reply.own.is_ipv6()) << 1
                    | u64::from(close);
                if mark_before != mark {
                    slot.data[start + PLAIN..start + PLAIN + payload.len()].copy_from_slice(payload);
                }
                *slot.mark = mark;
                let last = if part.is_last { flag::PSH | if close { flag::FIN } else { 0 } } else { 0 };
                (PLAIN + payload.len(), u64::from(part.sum), last)
            }
            _ => (PLAIN, 0, 0),
        };
        let bits = bits | last;
        let sum = put_header(&head, slot.data, reply, bits, length - payload_length(&reply.what, length));
        slot.length = head.finish_with(slot.data, length, sum + payload_sum);
    }
}

/// Bytes of a segment of `length` that are no header.
#[inline]
fn payload_length(what: &What, length: usize) -> usize {
    match what {
        What::Part { .. } => length - PLAIN,
        _ => 0,
    }
}

/// Writes all headers, and gives the sum of TCP's fixed one.
#[inline]
fn put_header(head: &Head, frame: &mut [u8], reply: &Reply, bits: u8, header: usize) -> u64 {
    head.write(frame);
    let mut fixed = [0; PLAIN];
    fixed[field::SOURCE..][..2].copy_from_slice(&reply.ports.0.to_be_bytes());
    fixed[field::DESTINATION..][..2].copy_from_slice(&reply.ports.1.to_be_bytes());
    fixed[field::SEQUENCE..][..4].copy_from_slice(&reply.seq.to_be_bytes());
    let ack = if bits & flag::ACK != 0 { reply.ack } else { 0 };
    fixed[field::ACKNOWLEDGMENT..][..4].copy_from_slice(&ack.to_be_bytes());
    fixed[field::OFFSET] = ((header / 4) << 4) as u8;
    fixed[field::FLAGS] = bits;
    fixed[field::WINDOW..][..2].copy_from_slice(&u16::MAX.to_be_bytes());
    frame[head.length()..][..PLAIN].copy_from_slice(&fixed);
    wire::checksum::sum(&fixed)
}

/// Whether a `Connection` header has this option (RFC 9110 §7.6.1).
#[cold]
fn has_option(request: &[u8], option: &[u8]) -> bool {
    request.split(|byte| *byte == b'\n').any(|line| {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        name.eq_ignore_ascii_case(b"connection")
            && value.split(|byte| *byte == b',').any(|word| word.trim_ascii().eq_ignore_ascii_case(option))
    })
}

/// Another for each responder of this process; the low bits are free.
fn nonce() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) << 16 | 0x5440
}

#[cfg(test)]
mod tests;
