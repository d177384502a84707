//! The program makes the frames that the template writes, byte for byte: needs CAP_BPF.

use super::next_numbers;
use super::program::{self, Making};
use super::state::{self, Orders, Pace, State};
use bpf::{Action, License, Program, ProgramKind};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use units::Rate;
use wire::signature::EPOCH_UNIX_NS;
use wire::template::{By, Echo, Field, Layer, Mac, Payload, Sizes, Spec, Spoiled, StreamSpec, Values, Vary};
use wire::{Template, Times};

struct Made {
    state: State,
    making: Making,
    program: Program,
}

fn load(template: &Template) -> Result<Made, String> {
    let state = State::new().unwrap();
    let making = program::write(template, 1, &state, super::fields::Numbering::WHOLE)
        .map_err(|error| error.to_string())?;
    let program = Program::load(ProgramKind::Xdp, "test", &making.code, License::Dual);
    let program = program.map_err(|error| format!("{}\n{error}", bpf::listing(&making.code)))?;
    Ok(Made { state, making, program })
}

/// Orders from `first` on, as `make` gives them.
fn begin(made: &Made, template: &Template, first: u64, most: u64, pace: Option<Pace>) {
    made.state.begin(first, 0);
    let numbers = next_numbers(template, first);
    for (at, value) in made.making.places.at(|stream| numbers[stream]) {
        made.state.write(at, value);
    }
    made.state.write(state::CLOCK_OFFSET, 1_000_000_000_000);
    made.state.order(&Orders { end: first + most, pace });
}

/// Runs `count` frames of a template one by one, and compares each with what `Template::write` makes.
fn compare(template: &Template, first: u64, count: u64) -> Result<(), String> {
    let made = load(template)?;
    begin(&made, template, first, count, None);
    let mut page = made.making.frame.clone();
    let hears = made.program.run(&page, 1).unwrap();
    assert_eq!(hears.returned, Action::Drop as u32, "the orders are heard first");
    let mut bytes = 0;
    for seq in first..first + count {
        let outcome = made.program.run(&page, 1).unwrap();
        if outcome.returned != Action::Redirect as u32 {
            return Err(format!("frame {seq}: action {}", outcome.returned));
        }
        let sent = made.state.read(state::NOW) + 1_000_000_000_000 + EPOCH_UNIX_NS;
        let mut expected = vec![0; template.length(seq)];
        template.write(seq, Times { due_unix_ns: sent, sent_unix_ns: sent }, &mut expected, &mut 0);
        if outcome.frame != expected {
            return Err(format!(
                "{}\n frame {seq}\n made {:02x?}\n asked {expected:02x?}",
                bpf::listing(&made.making.code),
                outcome.frame,
            ));
        }
        bytes += expected.len() as u64;
        // A page comes back as its receiver left it: here, with other headers.
        page[..outcome.frame.len()].copy_from_slice(&outcome.frame);
        page[..34].fill(0xee);
    }
    if made.program.run(&page, 1).unwrap().returned != Action::Drop as u32 {
        return Err("one frame too many".to_owned());
    }
    assert_eq!(made.state.read(state::NEXT), first + count);
    if made.making.length.is_none() {
        assert_eq!(made.state.read(state::BYTES), bytes);
    }
    Ok(())
}

fn ethernet() -> Layer {
    Layer::ethernet(Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]))
}

fn ipv4() -> Layer {
    Layer::Ipv4 {
        source: Ipv4Addr::new(198, 18, 0, 1),
        destination: Ipv4Addr::new(198, 18, 0, 2),
        dscp: 0,
        ecn: 0,
        identification: 7,
        dont_fragment: true,
        ttl: 64,
        protocol: None,
        options: Vec::new(),
    }
}

fn ipv6() -> Layer {
    Layer::Ipv6 {
        source: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
        traffic_class: 0,
        flow_label: 0,
        hop_limit: 64,
        next_header: None,
    }
}

fn udp() -> Layer {
    Layer::Udp { source: 1000, destination: 2000, checksum: true }
}

fn udp4(vary: Vec<Vary>, sizes: Sizes, sign: bool) -> StreamSpec {
    StreamSpec {
        weight: 1,
        layers: vec![ethernet(), ipv4(), udp()],
        sizes,
        vary,
        sign,
        ..StreamSpec::default()
    }
}

fn vary(field: Field, values: Values) -> Vary {
    Vary { field, values, by: By::Frame }
}

fn template(streams: Vec<StreamSpec>) -> Template {
    Template::build(&Spec { streams, seed: 42 }).unwrap()
}

#[test]
fn a_plain_frame_is_made_whole() {
    compare(&template(vec![udp4(vec![], Sizes::Fixed(64), false)]), 0, 10).unwrap();
}

#[test]
fn a_signed_frame_with_three_fields_that_vary() {
    let fields = vec![
        vary(Field::Ipv4Source, Values::Increment { start: 0xc612_0001, step: 1, count: 1000 }),
        vary(Field::PortSource, Values::Random { first: 1024, last: 65_535 }),
        vary(Field::Ttl, Values::List(vec![3, 64, 255])),
    ];
    compare(&template(vec![udp4(fields, Sizes::Fixed(64), true)]), 990, 2000).unwrap();
}

#[test]
fn flows_turn_like_the_digits_of_a_number() {
    let mut stream = udp4(
        vec![
            vary(Field::PortSource, Values::Increment { start: 1000, step: 1, count: 7 }),
            vary(Field::PortDestination, Values::Increment { start: 9, step: -1, count: 5 }),
        ],
        Sizes::Fixed(128),
        false,
    );
    stream.flows = Some(33);
    for first in [0, 32, 33, 1_000_000_007] {
        compare(&template(vec![stream.clone()]), first, 200).unwrap();
    }
}

#[test]
fn sizes_of_all_kinds_have_their_lengths_and_checksums() {
    for sizes in [
        Sizes::imix(),
        Sizes::List(vec![64, 1518, 65, 512]),
        Sizes::Range { first: 64, last: 100, step: 3 },
        Sizes::Random { first: 64, last: 300 },
    ] {
        for sign in [false, true] {
            compare(&template(vec![udp4(vec![], sizes.clone(), sign)]), 5, 300).unwrap();
        }
    }
}

#[test]
fn streams_take_turns_by_their_weights() {
    let heavy = StreamSpec {
        weight: 3,
        ..udp4(
            vec![vary(Field::Identification, Values::Increment { start: 0, step: 1, count: 65_536 })],
            Sizes::Fixed(64),
            true,
        )
    };
    let light = StreamSpec {
        weight: 2,
        layers: vec![ethernet(), ipv6(), udp()],
        sizes: Sizes::Fixed(86),
        sign: true,
        ..StreamSpec::default()
    };
    for first in [0, 3, 4, 999_999] {
        compare(
            &template(vec![heavy.clone(), light.clone(), udp4(vec![], Sizes::Fixed(70), false)]),
            first,
            100,
        )
        .unwrap();
    }
}

#[test]
fn payloads_that_differ_far_behind_are_made_as_well() {
    let random = |size| StreamSpec { payload: Payload::Random, ..udp4(vec![], Sizes::Fixed(size), true) };
    let zeros = |size| udp4(vec![], Sizes::Fixed(size), false);
    // The page that a stream gets has the other one's payload in it, up to its last byte and beyond.
    compare(&template(vec![random(1024), zeros(1024)]), 0, 40).unwrap();
    compare(&template(vec![random(1518), zeros(1514), random(300), zeros(64)]), 5, 40).unwrap();
    let many: Vec<StreamSpec> = (0..20).map(|n| random(600 + n * 7)).collect();
    compare(&template(many), 0, 100).unwrap();
}

#[test]
fn frames_wait_for_their_time_and_lateness_is_counted_and_signed() {
    let template = template(vec![udp4(vec![], Sizes::Fixed(64), true)]);
    let made = load(&template).unwrap();
    // 300 000 a second: 3333 ⅓ ns.
    let origin = clock::monotonic_ns() + 100_000;
    begin(&made, &template, 0, 1000, Some(Pace::new(Rate::per_second(300_000).unwrap(), origin)));
    let (mut runs, mut total) = (0, 0);
    while made.state.read(state::NEXT) < 1000 {
        let outcome = made.program.run(&made.making.frame, 1).unwrap();
        runs += 1;
        assert!(runs < 10_000_000, "stuck");
        if outcome.returned != Action::Redirect as u32 {
            continue;
        }
        let n = made.state.read(state::NEXT) - 1;
        let now = made.state.read(state::NOW);
        let due = origin + n * 10_000 / 3;
        assert!(now >= due, "frame {n} left {} ns early", due - now);
        // Frames that wait in the program are never late by more than the test's own calls.
        let signature = wire::Signature::read(&outcome.frame[42..]).unwrap();
        let late = signature.sent_unix_ns - signature.due_unix_ns;
        // Exact below 4 096 ns, at most 1/2048 too small above.
        assert!(late <= now - due && late + (now - due) / 2048 >= now - due, "{late} {}", now - due);
        total += 1;
    }
    assert_eq!(total, 1000);
    assert_eq!(made.state.lateness().iter().sum::<u64>(), 1000);
    assert!(clock::monotonic_ns() >= origin + 999 * 10_000 / 3);
}

/// Any one stream that can be built.
fn stream() -> impl Strategy<Value = StreamSpec> {
    let values = prop_oneof![
        (any::<u32>(), -5i64..300, 1u64..2000).prop_map(|(start, step, count)| (
            0u8,
            u64::from(start),
            step,
            count
        )),
        (any::<u32>(), 0i64..1, 1u64..9).prop_map(|(start, step, count)| (1, u64::from(start), step, count)),
        (any::<u32>(), 0i64..1, 1u64..3000).prop_map(|(start, step, count)| (
            2,
            u64::from(start),
            step,
            count
        )),
    ];
    let varied = proptest::collection::vec((0..Field::ALL.len(), values, any::<bool>()), 0..4);
    let sizes = prop_oneof![
        (90usize..400).prop_map(Sizes::Fixed),
        proptest::collection::vec(90usize..400, 1..6).prop_map(Sizes::List),
        (90usize..200, 200usize..300, 1usize..50).prop_map(|(first, last, step)| Sizes::Range {
            first,
            last,
            step
        }),
        (90usize..200, 200usize..300).prop_map(|(first, last)| Sizes::Random { first, last }),
    ];
    (0..3u8, 0..3u8, any::<bool>(), varied, sizes, any::<bool>(), proptest::option::of(1u64..200)).prop_map(
        |(network, transport, tagged, varied, sizes, sign, flows)| {
            let mut layers = vec![ethernet()];
            if tagged {
                layers.push(Layer::Vlan {
                    protocol: None,
                    identifier: 5,
                    priority: 1,
                    drop_eligible: false,
                    ethertype: None,
                });
            }
            layers.push(if network == 0 { ipv6() } else { ipv4() });
            layers.push(match transport {
                0 => Layer::Tcp {
                    source: 1,
                    destination: 2,
                    sequence: 3,
                    acknowledgment: 4,
                    flags: 2,
                    window: 5,
                    options: vec![2, 4, 5, 0xb4],
                },
                1 => Layer::Echo(Echo { request: true, identifier: 1, sequence: 2 }),
                _ => udp(),
            });
            let vary = varied.into_iter().map(|(field, (kind, start, step, count), by_flow)| {
                let field = Field::ALL[field];
                let most = if field.bits() >= 64 { u64::MAX } else { (1 << field.bits()) - 1 };
                let first = u128::from(start & most);
                let values = match kind {
                    0 => Values::Increment { start: first, step, count },
                    1 => Values::List(
                        (0..count).map(|n| u128::from((start.wrapping_mul(n + 3) + n) & most)).collect(),
                    ),
                    _ => Values::Random {
                        first,
                        last: u128::from((start & most).saturating_add(count).min(most)),
                    },
                };
                Vary { field, values, by: if by_flow && flows.is_some() { By::Flow } else { By::Frame } }
            });
            StreamSpec {
                weight: 1,
                layers,
                sizes,
                payload: Payload::Increment,
                vary: vary.collect(),
                flows,
                sign,
                pads: false,
                spoiled: Spoiled::default(),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_template_says_the_program_makes(
        streams in proptest::collection::vec(stream(), 1..3), first in 0u64..1 << 34, seed: u64
    ) {
        // Not every field is in every header, and not every value fits: what cannot be built is not asked for.
        let built = Template::build(&Spec { streams, seed });
        prop_assume!(built.is_ok());
        let template = built.unwrap();
        prop_assert_eq!(compare(&template, first, 60), Ok(()));
    }

    #[test]
    fn numbers_at_a_position_are_those_of_counting(
        weights in proptest::collection::vec(1u32..5, 1..4),
        position in 0u64..500,
    ) {
        let stream = |weight: &u32| StreamSpec { weight: *weight, ..udp4(vec![], Sizes::Fixed(64), false) };
        let streams = weights.iter().map(stream);
        let template = template(streams.collect());
        let mut counted = vec![0; weights.len()];
        (0..position).for_each(|seq| counted[template.locate(seq).0] += 1);
        let numbers = next_numbers(&template, position);
        for (stream, count) in counted.into_iter().enumerate() {
            prop_assert_eq!(numbers[stream], count, "stream {}", stream);
        }
    }
}
