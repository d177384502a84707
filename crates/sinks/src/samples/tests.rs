use super::*;
use units::{Bytes, Group};

fn at_ns(ns: u64) -> Instant {
    Instant::EPOCH + Picos::from_nanos(ns)
}

fn run() -> RunInfo {
    RunInfo {
        run: "r".to_owned(),
        warmup: Picos::from_nanos(150),
        groups: vec!["buy".to_owned(), "(other)".to_owned()],
        ..RunInfo::default()
    }
}

fn answer() -> Event {
    Event {
        seq: 7,
        due: at_ns(100),
        sent: at_ns(350),
        first_byte: at_ns(500),
        done: at_ns(700),
        bytes_out: Bytes::new(10),
        bytes_in: Bytes::new(20),
        outcome: Outcome::Status(200),
        blocked: Picos::from_nanos(200),
        unread: Picos::from_nanos(30),
        unread_bound: Picos::ZERO,
        group: Group(0),
    }
}

fn events() -> Vec<Event> {
    let never = Event { sent: Instant::FAR, first_byte: Instant::FAR, due: at_ns(200), ..answer() };
    vec![
        answer(),
        Event { outcome: Outcome::Failed(Cause::BodyReset), due: at_ns(150), group: Group(1), ..answer() },
        Event { outcome: Outcome::Missed(Miss::NoPort), group: Group(900), ..never },
        Event { outcome: Outcome::CutOff, due: at_ns(200), first_byte: Instant::FAR, ..answer() },
        // No status has four digits, and a failed look-up has never been sent.
        Event { outcome: Outcome::Status(1_000), ..answer() },
        Event { outcome: Outcome::Failed(Cause::Lookup), ..never },
    ]
}

/// The values of a column, `None` where it is null.
fn rows<T: Clone>(batch: &Batch, name: &str, values: impl Fn(&Data) -> Vec<T>) -> Vec<Option<T>> {
    let at = COLUMNS.iter().position(|column| column.name == name).unwrap();
    let column = &batch.columns[at];
    assert_eq!(column.present.is_some(), COLUMNS[at].nullable, "{name}");
    let mut values = values(&column.data).into_iter();
    let present = column.present.as_ref().map_or(vec![1; batch.rows], |present| present.to_vec());
    let rows = present.iter().map(|present| (*present == 1).then(|| values.next().unwrap())).collect();
    assert_eq!(values.count(), 0, "{name}");
    rows
}

fn numbers(batch: &Batch, name: &str) -> Vec<Option<i64>> {
    rows(batch, name, |data| match data {
        Data::Longs(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    })
}

fn words(batch: &Batch, name: &str) -> Vec<Option<String>> {
    rows(batch, name, |data| match data {
        Data::Texts(indices, texts) => {
            indices.iter().map(|index| texts[usize::from(*index)].clone()).collect()
        }
        other => panic!("{name}: {other:?}"),
    })
}

fn flags(batch: &Batch, name: &str) -> Vec<Option<bool>> {
    rows(batch, name, |data| match data {
        Data::Booleans(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    })
}

/// By hand, from the times in [`answer`]: 700 − 100, 700 − 350, 350 − 100; of these 250, 200 were blocked, and
/// 30 unread: the tare is 80, or 30 where all lateness was blocked.
#[test]
fn each_column_says_what_its_name_says() {
    let table = Table::new(&run(), 1);
    let batch = table.batch(3, &events());
    assert_eq!(numbers(&batch, "seq"), vec![Some(7); 6]);
    let (some, none) = (Some, None);
    assert_eq!(numbers(&batch, "sent_ns"), [some(350), some(350), none, some(350), some(350), none]);
    assert_eq!(numbers(&batch, "first_byte_ns"), [some(500), some(500), none, none, some(500), none]);
    assert_eq!(numbers(&batch, "latency_ns"), [some(600), some(550), none, none, some(600), some(500)]);
    assert_eq!(numbers(&batch, "service_ns"), [some(350), some(350), none, none, some(350), none]);
    assert_eq!(numbers(&batch, "lateness_ns"), [some(250), some(200), none, some(150), some(250), none]);
    assert_eq!(numbers(&batch, "blocked_ns")[0], some(200));
    assert_eq!(numbers(&batch, "unread_ns"), [some(30), some(30), none, none, some(30), none]);
    assert_eq!(numbers(&batch, "tare_ns"), [some(80), some(30), none, none, some(80), none]);
    assert_eq!(numbers(&batch, "net_ns"), [some(520), some(520), none, none, some(520), none]);
    assert_eq!(numbers(&batch, "done_ns"), vec![some(700); 6]);
    assert_eq!(flags(&batch, "warmup"), [true, false, false, false, true, false].map(Some));
    let text = |words: [&str; 6]| words.map(|word| Some(word.to_owned())).to_vec();
    assert_eq!(words(&batch, "class"), text(["status", "error", "missed", "cut_off", "status", "error"]));
    assert_eq!(
        words(&batch, "key"),
        text(["200", "body.reset", "missed.no_port", "cut_off", "0", "lookup.failed"])
    );
    assert_eq!(words(&batch, "group"), text(["buy", "(other)", "(other)", "buy", "buy", "buy"]));
}

#[test]
fn without_groups_there_is_no_group() {
    let batch = Table::new(&RunInfo::default(), 1).batch(0, &events());
    assert_eq!(words(&batch, "group"), vec![None; 6]);
    assert_eq!(Table::new(&run(), 1).batch(0, &[]).rows, 0);
}

/// docs/samples.md lists the columns in this order, as an item with the name: `- name: …`.
#[test]
fn the_documentation_lists_every_column() {
    let page = include_str!("../../../../docs/samples.md");
    let listed: Vec<&str> = page
        .lines()
        .skip_while(|line| *line != "## Columns")
        .skip_while(|line| !line.starts_with("- `"))
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("- `"))
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    assert_eq!(listed, COLUMNS.map(|column| column.name));
    for (name, _) in Table::new(&run(), 1).metadata() {
        assert!(page.contains(&format!("`{name}`")), "{name} is not in docs/samples.md");
    }
}
