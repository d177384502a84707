//! The command that has frames sent, with places for figures.

use crate::run::{CLOSED, Traffic};
use crate::sender::Pace;
use crate::stage::Stage;

const PLACES: [&str; 7] = ["rate", "time", "address", "mac", "port", "size", "kind"];

const EXAMPLE: &str = "'ssh peer tare send packet:eth0 --rate {rate} -t {time} -i {address} -m {mac} \
                       --dport {port} --size {size} --no-save -q'";

/// A command of the shell with places for figures: see [`PLACES`]. A `${rate}` is the shell's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere(String);

/// A part of a command.
enum Part<'a> {
    Text(&'a str),
    Place(&'a str),
}

impl Elsewhere {
    /// # Errors
    /// The command cannot set a rate or end by itself, or has a place that is none.
    pub fn new(command: &str) -> Result<Self, String> {
        let places = places(command);
        if let Some(name) = places.iter().find(|name| !PLACES.contains(name)) {
            return Err(format!("{{{name}}} is unknown; expected one of {{{}}}", PLACES.join("}, {")));
        }
        for needed in ["rate", "time"] {
            if !places.contains(&needed) {
                return Err(format!("the command has no {{{needed}}}; expected e.g. {EXAMPLE}"));
            }
        }
        Ok(Self(command.to_owned()))
    }

    fn has(&self, place: &str) -> bool {
        places(&self.0).contains(&place)
    }

    /// Whether the command can send these.
    ///
    /// # Errors
    /// It is to send several, and is not told which.
    pub fn can_send(&self, sizes: &[usize], kinds: &[Traffic]) -> Result<(), String> {
        let all = [
            ("size", "--sizes", sizes.iter().map(ToString::to_string).collect::<Vec<_>>()),
            ("kind", "--kind", kinds.iter().map(|kind| kind.name().to_owned()).collect()),
        ];
        match all.into_iter().find(|(place, _, asked)| asked.len() > 1 && !self.has(place)) {
            None => Ok(()),
            Some((place, flag, asked)) => Err(format!(
                "the command has no {{{place}}} and would send the same for {flag} {}; add {{{place}}}, or ask \
                 for one",
                asked.join(",")
            )),
        }
    }

    /// What nobody told the command.
    pub fn remark(&self) -> Option<String> {
        let untold: Vec<&str> = ["size", "kind"].into_iter().filter(|place| !self.has(place)).collect();
        (!untold.is_empty()).then(|| {
            format!(
                "incoming {} assumed, because --source has no {{{}}}",
                if untold.len() > 1 { "size and kind are".to_owned() } else { format!("{} is", untold[0]) },
                untold.join("} and no {")
            )
        })
    }

    /// With its figures in place.
    pub(super) fn filled(
        &self,
        stage: &Stage,
        pace: Pace,
        length_ns: u64,
        (size, kind): (usize, Traffic),
    ) -> String {
        let (mac, address, _) = stage.route.source;
        let [a, b, c, d, e, f] = mac.0;
        let figure = |name: &str| match name {
            // Slow ones have decimals.
            "rate" => pace.rate().map_or_else(
                || "max".to_owned(),
                |rate| {
                    if rate < 100.0 {
                        format!("{}", (rate * 1e3).round() / 1e3)
                    } else {
                        format!("{rate:.0}")
                    }
                },
            ),
            "time" => format!("{}ms", length_ns / 1_000_000),
            "address" => address.to_string(),
            "mac" => format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
            "port" => CLOSED.to_string(),
            "size" => size.to_string(),
            _ => kind.name().to_owned(),
        };
        let part = |part: Part<'_>| match part {
            Part::Text(text) => text.to_owned(),
            Part::Place(name) => figure(name),
        };
        parts(&self.0).into_iter().map(part).collect()
    }
}

/// Text and places: small letters in braces, where no dollar stands before them.
fn parts(command: &str) -> Vec<Part<'_>> {
    let (mut parts, mut text, mut from) = (Vec::new(), 0, 0);
    while let Some(open) = command[from..].find('{').map(|at| from + at) {
        from = open + 1;
        let Some((name, _)) = command[from..].split_once('}') else { break };
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_name && !command[..open].ends_with('$') {
            from += name.len() + 1;
            parts.extend([Part::Text(&command[text..open]), Part::Place(name)]);
            text = from;
        }
    }
    parts.push(Part::Text(&command[text..]));
    parts
}

fn places(command: &str) -> Vec<&str> {
    let place = |part| if let Part::Place(name) = part { Some(name) } else { None };
    parts(command).into_iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_must_set_the_rate_and_end_by_itself() {
        for right in ["send {rate} {time}", "ssh a 'send {rate} {time} ${HOME} ${home} {} {'", EXAMPLE] {
            assert!(Elsewhere::new(right).is_ok(), "{right}");
        }
        for (wrong, what) in [
            ("send {rate}", "{time}"),
            ("send {time}", "{rate}"),
            ("send ${rate} {time}", "{rate}"),
            ("send {rate} {time} {adress}", "{adress}"),
        ] {
            let said = Elsewhere::new(wrong).unwrap_err();
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn a_command_is_told_what_changes() {
        let (sizes, kinds) = ([64, 1518], [Traffic::UdpClosed, Traffic::TcpSyn]);
        let of = |words: &str| Elsewhere::new(&format!("{{rate}} {{time}} {words}")).unwrap();
        assert_eq!(of("{size} {kind}").can_send(&sizes, &kinds), Ok(()));
        assert_eq!(of("").can_send(&sizes[..1], &kinds[..1]), Ok(()));
        let said = of("{kind}").can_send(&sizes, &kinds).unwrap_err();
        assert!(said.contains("add {size}") && said.contains("--sizes 64,1518"), "{said}");
        let said = of("{size}").can_send(&sizes, &kinds).unwrap_err();
        assert!(said.contains("add {kind}") && said.contains("--kind udp-closed,tcp-syn"), "{said}");
        assert_eq!(Elsewhere::new(EXAMPLE).unwrap().can_send(&sizes, &kinds[..1]), Ok(()));
        assert_eq!(of("{size} {kind}").remark(), None);
        let said = of("{size}").remark().unwrap();
        assert_eq!(said, "incoming kind is assumed, because --source has no {kind}");
        let said = of("").remark().unwrap();
        assert_eq!(said, "incoming size and kind are assumed, because --source has no {size} and no {kind}");
    }

    #[test]
    fn places_are_filled() {
        let stage = Stage::loopback().unwrap();
        let command = "x {rate} {time} {address} {mac} {port} {size} {kind} ${rate} ä{rate}{";
        let command = Elsewhere::new(command).unwrap();
        let what = (64, Traffic::TcpSyn);
        let words = command.filled(&stage, Pace::Even(1234.4), 2_500_000_000, what);
        assert_eq!(words, "x 1234 2500ms 127.0.0.1 00:00:00:00:00:00 7 64 tcp-syn ${rate} ä1234{");
        assert!(command.filled(&stage, Pace::Flood, 1, what).starts_with("x max "));
        assert!(command.filled(&stage, Pace::Even(0.25), 1, what).starts_with("x 0.25 "));
    }
}
