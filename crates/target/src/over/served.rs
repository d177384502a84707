//! What a responder counted.

use serde::{Serialize, Serializer};

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)+) => {
        /// Why a segment was not answered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Ignored { $($(#[$doc])* $name,)+ }

        impl Ignored {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }
        }
    };
}

causes! {
    /// An acknowledgment without data.
    Ack = "ack",
    Rst = "rst",
    /// SYN with ACK: nobody was asked to connect.
    SynAck = "syn_ack",
    /// Neither SYN nor ACK.
    NoAck = "no_ack",
}

/// Totals of a responder, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Requests that were answered, each as often as it came.
    pub requests: u64,
    /// TCP segments that came.
    pub segments: u64,
    /// Segments that were sent.
    pub answers: u64,
    /// SYNs, each of which was answered.
    pub syns: u64,
    /// FINs, each of which was answered with one.
    pub fins: u64,
    /// Segments with a part of a request, which were acknowledged.
    pub partial: u64,
    /// Segments to other ports, which were refused.
    pub refused: u64,
    /// Answers that found no room in the port.
    pub unsent: u64,
    /// By cause.
    #[serde(serialize_with = "by_key")]
    pub ignored: [u64; Ignored::ALL.len()],
    /// Frames to the own addresses that were damaged or could not be read.
    pub bad: u64,
}

fn by_key<S: Serializer>(counts: &[u64; Ignored::ALL.len()], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Ignored::ALL.iter().zip(counts).map(|(cause, count)| (cause.key(), count)))
}

impl Served {
    pub const fn ignored(&self, cause: Ignored) -> u64 {
        self.ignored[cause as usize]
    }

    /// Adds those of another responder.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.segments += other.segments;
        self.answers += other.answers;
        self.syns += other.syns;
        self.fins += other.fins;
        self.partial += other.partial;
        self.refused += other.refused;
        self.unsent += other.unsent;
        self.bad += other.bad;
        self.ignored.iter_mut().zip(other.ignored).for_each(|(into, from)| *into += from);
    }

    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Named<'a> {
            schema: &'static str,
            #[serde(flatten)]
            served: &'a Served,
        }
        let named = Named { schema: "tare.served/1", served: self };
        serde_json::to_string_pretty(&named).expect("plain numbers always have a JSON form") + "\n"
    }

    /// A few lines for people.
    pub fn to_text(&self) -> String {
        let mut text = format!("requests   {}\n", self.requests);
        text += &format!("segments   {} in, {} out\n", self.segments, self.answers);
        text += &format!("accepted   {} SYNs, {} FINs\n", self.syns, self.fins);
        let ignored = Ignored::ALL.iter().map(|cause| (self.ignored(*cause), cause.key()));
        let more = [
            (self.partial, "parts of requests"),
            (self.refused, "to other ports"),
            (self.bad, "damaged"),
            (self.unsent, "answers without room"),
        ];
        let rest: Vec<String> = ignored
            .map(|(count, key)| (count, format!("{key} ignored")))
            .chain(more.map(|(count, what)| (count, what.to_owned())))
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !rest.is_empty() {
            text += &format!("besides    {}\n", rest.join(", "));
        }
        text
    }
}
