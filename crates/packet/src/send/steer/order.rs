//! What `set` is told: fields of all streams, or of those that are named before them.
//!
//! ```text
//! set dport=53 size=256                       all streams
//! set stream=voice,video pcp=5 rate=2k        these
//! set stream=voice dport=5060 stream=bulk size=1400
//! ```

/// One field of one stream, or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// `None`: of all streams.
    pub stream: Option<usize>,
    pub key: String,
    pub value: String,
}

const USAGE: &str = "write set [stream=NAME,NAME] FIELD=VALUE ..., e.g. set stream=voice dport=5060 size=256";

/// Reads a line; `names` are those of the streams.
pub fn read(text: &str, names: &[String]) -> Result<Vec<Order>, String> {
    let mut orders: Vec<Order> = Vec::new();
    let mut chosen: Vec<Option<usize>> = vec![None];
    let mut is_waiting = false;
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("'{word}' has no value; {USAGE}"))?;
        if key == "stream" {
            if is_waiting {
                return Err(format!("'{word}' follows streams without a field; {USAGE}"));
            }
            (chosen, is_waiting) = (streams(value, names)?, true);
            continue;
        }
        is_waiting = false;
        if value.is_empty() {
            return Err(format!("'{word}' has no value; {USAGE}"));
        }
        for stream in &chosen {
            let order = Order { stream: *stream, key: key.replace('_', "-"), value: value.to_owned() };
            if orders.iter().any(|known| is_same(known, &order)) {
                return Err(format!("'{key}' is set twice for one stream"));
            }
            orders.push(order);
        }
    }
    if orders.is_empty() || is_waiting {
        return Err(format!("no field is set; {USAGE}"));
    }
    Ok(orders)
}

/// Fields may vary beside each other: each of them is another.
fn is_same(one: &Order, other: &Order) -> bool {
    let field = |order: &Order| match order.key.as_str() {
        "vary" => order.value.split('=').next().map(str::to_owned),
        _ => None,
    };
    let is_one_stream = one.stream == other.stream || one.stream.is_none() || other.stream.is_none();
    is_one_stream && one.key == other.key && field(one) == field(other)
}

fn streams(value: &str, names: &[String]) -> Result<Vec<Option<usize>>, String> {
    if value == "all" && !names.iter().any(|name| name == "all") {
        return Ok(vec![None]);
    }
    if names.len() < 2 {
        return Err("this run has only one stream; leave out stream=".to_owned());
    }
    // A name may have a comma itself.
    let parts: Vec<&str> =
        if names.iter().any(|name| name == value) { vec![value] } else { value.split(',').collect() };
    let mut found = Vec::new();
    for part in parts {
        let number = names
            .iter()
            .position(|name| name == part)
            .ok_or_else(|| format!("'{part}' is not a stream of this run; it has {}", first_of(names)))?;
        if !found.contains(&Some(number)) {
            found.push(Some(number));
        }
    }
    Ok(found)
}

/// The names of a few.
fn first_of(names: &[String]) -> String {
    const TOLD: usize = 16;
    let told = names[..names.len().min(TOLD)].join(", ");
    match names.len().checked_sub(TOLD).filter(|more| *more > 0) {
        Some(more) => format!("{told} and {more} more"),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["voice", "bulk", "a,b"].map(str::to_owned).to_vec()
    }

    fn order(stream: Option<usize>, key: &str, value: &str) -> Order {
        Order { stream, key: key.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn fields_are_of_the_streams_named_before_them() {
        let read = |text: &str| read(text, &names());
        assert_eq!(read("dst_mac=02:00:00:00:00:01").unwrap(), [order(None, "dst-mac", "02:00:00:00:00:01")]);
        assert_eq!(
            read("stream=voice,bulk,voice dport=5,6 stream=a,b vary=id=1..5").unwrap(),
            [
                order(Some(0), "dport", "5,6"),
                order(Some(1), "dport", "5,6"),
                order(Some(2), "vary", "id=1..5")
            ]
        );
        assert_eq!(read("stream=voice ttl=1 stream=all dport=2").unwrap()[1], order(None, "dport", "2"));
        assert_eq!(read("vary=id=1 vary=ttl=1..5").unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_order_is_refused_in_a_sentence() {
        let refused = |text: &str| read(text, &names()).unwrap_err();
        assert!(refused("").starts_with("no field is set; write set [stream=NAME,NAME]"));
        assert!(refused("stream=voice").starts_with("no field is set"));
        assert!(refused("stream=voice stream=bulk ttl=1").contains("follows streams without a field"));
        assert!(refused("dport 5").starts_with("'dport' has no value"));
        assert!(refused("dport=").starts_with("'dport=' has no value"));
        assert_eq!(
            refused("stream=video ttl=1"),
            "'video' is not a stream of this run; it has voice, bulk, a,b"
        );
        assert_eq!(refused("ttl=1 stream=bulk ttl=2"), "'ttl' is set twice for one stream");
        assert_eq!(refused("vary=id=1 vary=id=2"), "'vary' is set twice for one stream");
        let one = read("stream=0 ttl=1", &["0".to_owned()]).unwrap_err();
        assert_eq!(one, "this run has only one stream; leave out stream=");
        assert_eq!(read("stream=all ttl=1", &["0".to_owned()]).unwrap(), [order(None, "ttl", "1")]);
    }
}
