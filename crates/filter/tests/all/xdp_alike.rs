//! The XDP program and user space decide alike: the same frames through both, by BPF_PROG_RUN.

use filter::xdp::{Loaded, Onward, Refusals, XdpError};
use filter::{Action, Firewall, Hit, Rules};
use std::sync::Arc;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
    /// Mostly few values, so that prefixes and frames meet.
    fn byte(&mut self) -> u8 {
        if self.below(5) == 0 { self.next() as u8 } else { self.below(4) as u8 }
    }
    fn port(&mut self) -> u16 {
        if self.below(3) == 0 { self.next() as u16 } else { self.below(8) as u16 }
    }
}

fn rules(random: &mut Random, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        text += random.one(&["drop", "pass"]);
        let ipv4 = random.below(2) == 0;
        let (start, mut said) = (text.len(), false);
        for word in ["from", "to"] {
            if random.below(3) > 0 {
                let mut bytes = [0u8; 16];
                bytes.iter_mut().for_each(|b| *b = random.byte());
                let prefix = match ipv4 {
                    true => filter::Prefix::around(
                        [bytes[0], bytes[1], bytes[2], bytes[3]].into(),
                        random.one(&[8, 15, 16, 24, 31, 32]),
                    ),
                    false => filter::Prefix::around(bytes.into(), random.one(&[8, 32, 48, 64, 65, 127, 128])),
                };
                text += &format!(" {word} {prefix}");
                said = true;
            }
        }
        if random.below(2) == 0 {
            let (protocol, has) =
                random.one(&[("tcp", true), ("udp", true), ("sctp", true), ("icmp", false), ("60", false)]);
            text += &format!(" proto {protocol}");
            for word in ["sport", "dport"] {
                if has && random.below(2) == 0 {
                    let (a, b) = (random.port(), random.port());
                    // Many rules with ranges of all widths are too much for one program: see the test below.
                    let (first, last) = match count < 10 {
                        true => (a.min(b), a.max(b)),
                        false => random.one(&[(a, a), (b, b), (0, 3), (1024, 2047)]),
                    };
                    text += &format!(" {word} {first}-{last}");
                }
            }
            said = true;
        }
        if !said {
            text.truncate(start);
            text += " proto 99";
        }
        text.push('\n');
    }
    text + random.one(&["default drop\n", "default pass\n"]) + random.one(&["other drop\n", "other pass\n"])
}

/// A frame that is mostly right and sometimes broken anywhere.
fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for _ in 0..random.one(&[0, 0, 0, 0, 1, 2, 3]) {
        frame.extend(random.one(&[
            [0x81, 0],
            [0x81, 0],
            [0x88, 0xa8],
            [0x88, 0xa8],
            [0x91, 0],
            [0x88, 0x47],
        ]));
        frame.extend([0, 7]);
    }
    let from = frame.len() + 2;
    let protocol = random.one(&[6u8, 17, 17, 132, 33, 136, 1, 60, 44, 0]);
    match random.below(20) {
        0 => {
            frame.extend(random.one(&[[8, 6], [0x88, 0x64], [5, 0xff], [0, 46], [6, 0]]));
            frame.extend(random.one(&[[0xaa, 0xaa], [0x42, 0x42]]));
        }
        1..=10 => {
            let words = random.one(&[5u8, 5, 5, 5, 6, 15, 4]);
            let mut head = vec![0u8; 20];
            head[0] = random.one(&[0x40, 0x40, 0x40, 0x40, 0x50]) | words;
            head[9] = protocol;
            if random.below(6) == 0 {
                head[6..8].copy_from_slice(&random.one(&[0x2000u16, 0x0001, 0x4000, 0x1fff]).to_be_bytes());
            }
            head[12..20].iter_mut().for_each(|b| *b = random.byte());
            frame.extend([8, 0]);
            frame.extend(head);
            frame.extend(vec![1; usize::from(words).saturating_sub(5) * 4]);
        }
        _ => {
            let mut head = vec![0u8; 40];
            head[0] = random.one(&[0x60, 0x60, 0x60, 0x60, 0x40]);
            head[8..40].iter_mut().for_each(|b| *b = random.byte());
            let chain: Vec<u8> = (0..random.one(&[0u64, 0, 0, 1, 2, 5, 7, 8, 9]))
                .map(|_| random.one(&[0u8, 43, 60, 44, 51, 135, 139, 140]))
                .collect();
            head[6] = chain.first().copied().unwrap_or(protocol);
            frame.extend([0x86, 0xdd]);
            frame.extend(head);
            for (index, kind) in chain.iter().enumerate() {
                let next = chain.get(index + 1).copied().unwrap_or(protocol);
                let units = random.below(3) as u8;
                let bytes = match kind {
                    44 => 8,
                    51 => (usize::from(units) + 2) * 4,
                    _ => (usize::from(units) + 1) * 8,
                };
                let mut head = vec![0u8; bytes];
                (head[0], head[1]) = (next, units);
                if *kind == 44 && random.below(3) == 0 {
                    head[3] = 8;
                }
                frame.extend(head);
            }
        }
    }
    frame.extend(random.port().to_be_bytes());
    frame.extend(random.port().to_be_bytes());
    frame.extend([0; 12]);
    if random.below(3) == 0 && frame.len() > from + 6 {
        // The length that the IP header tells: what there is, about that, or anything.
        let there = frame.len() - from;
        let (at, told) =
            if frame[from] >> 4 == 4 { (from + 2, there) } else { (from + 4, there.saturating_sub(40)) };
        let less = random.below(20).saturating_sub(2) as u16;
        let told = random.one(&[told as u16, (told as u16).saturating_sub(less), less, 0xffff]);
        frame[at..at + 2].copy_from_slice(&told.to_be_bytes());
    }
    if random.below(8) == 0 {
        // The kernel runs programs on 14 bytes and more.
        frame.truncate(14 + random.below(frame.len() as u64 - 14) as usize);
    }
    frame
}

/// `None` where the kernel does not let us, and says so.
fn loaded(firewall: &Arc<Firewall>) -> Option<Loaded> {
    match Loaded::new(firewall.clone(), Onward::Host) {
        Ok(loaded) => Some(loaded),
        Err(error @ XdpError::Bpf(bpf::BpfError::Privilege { .. })) => {
            println!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_program_and_user_space_decide_alike_on_a_million_frames() {
    let mut random = Random(20_261_121);
    let mut verdicts = [0u64; 2];
    for round in 0..20 {
        let count = [0, 1, 5, 40, 200, 1_000][round % 6];
        let text = rules(&mut random, count);
        let firewall = Arc::new(Firewall::compile(&Rules::parse(&text, "rules").unwrap()).unwrap());
        let Some(loaded) = loaded(&firewall) else { return };
        let mut hits = firewall.hits();
        let mut sums = [Hit::default(); 2];
        for _ in 0..50_000 {
            let frame = frame(&mut random);
            let ours = firewall.decide(&frame);
            hits.count(ours, frame.len() as u64);
            let theirs = loaded.run(&frame, 1).unwrap().returned;
            let expected = if ours.action() == Action::Drop { bpf::Action::Drop } else { bpf::Action::Pass };
            let drops = usize::from(ours.action().is_drop());
            verdicts[drops] += 1;
            sums[drops].frames += 1;
            sums[drops].bytes += frame.len() as u64;
            assert_eq!(theirs, expected as u32, "{:?} of {frame:02x?} by\n{text}", firewall.judge(ours));
        }
        // Not only the same action, but by the same rule, and every frame counted.
        assert_eq!(loaded.hits(), hits, "{text}");
        assert_eq!(loaded.sums(), (sums[0], sums[1]), "{text}");
    }
    assert!(verdicts.iter().all(|count| *count > 200_000), "{verdicts:?}");
}

#[test]
fn a_hundred_thousand_rules_load_in_seconds_and_decide_alike() {
    let text: String = (0..100_000u32)
        .map(|i| format!("drop from 10.{}.{}.{}/{}\n", i >> 13 & 255, i >> 5 & 255, (i & 31) << 3, 29))
        .collect();
    let firewall = Arc::new(Firewall::compile(&Rules::parse(&text, "rules").unwrap()).unwrap());
    let Some(loaded) = loaded(&firewall) else { return };
    let mut random = Random(1);
    for _ in 0..10_000 {
        let mut frame = vec![0u8; 60];
        frame[12] = 8;
        frame[14] = 0x45;
        frame[26..30].copy_from_slice(&(0x0a00_0000 | (random.next() as u32 & 0x1f_ffff)).to_be_bytes());
        let expected = 2 - u32::from(firewall.decide(&frame).action().is_drop());
        assert_eq!(loaded.run(&frame, 1).unwrap().returned, expected);
    }
}

#[test]
fn as_many_tables_for_one_packet_as_are_allowed_are_proved_by_the_kernel_and_more_are_refused() {
    // 25 lengths × 10 port blocks, and 6 of one block more: 256 tables under one source.
    let rule = |length: u32, block: u32| {
        format!("drop to 255.0.0.0/{length} proto udp dport 0-{}\n", (1 << block) - 1)
    };
    let shapes = (8..=32).flat_map(|l| (0..10).map(move |b| (l, b))).chain((8..14).map(|l| (l, 11)));
    let text: String = shapes.map(|(length, block)| rule(length, block)).collect();
    let firewall = |text: &str| Arc::new(Firewall::compile(&Rules::parse(text, "rules").unwrap()).unwrap());
    let many = firewall(&text);
    assert_eq!(many.cost().tuples, 256);
    let Some(loaded) = loaded(&many) else { return };
    let mut frame = vec![0u8; 60];
    frame[12] = 8;
    frame[14] = 0x45;
    frame[23] = 17;
    frame[30] = 255;
    frame[36..38].copy_from_slice(&511u16.to_be_bytes());
    // The last block of the shortest prefix: rule 10 − 1.
    assert_eq!(many.rule(many.decide(&frame)), Some(9));
    assert_eq!(loaded.run(&frame, 1).unwrap().returned, bpf::Action::Drop as u32);
    assert_eq!(loaded.hits().rules()[9].frames, 1);
    let more = firewall(&(text + &rule(14, 11)));
    let error = Loaded::new(more, Onward::Host).err().unwrap().to_string();
    assert!(error.contains("257 look-ups") && error.contains("without --xdp"), "{error}");
}

#[test]
fn what_is_sent_on_is_under_way_until_the_other_port_has_taken_it() {
    let firewall =
        Arc::new(Firewall::compile(&Rules::parse("drop from 10.0.0.0/8", "rules").unwrap()).unwrap());
    if loaded(&firewall).is_none() {
        return;
    }
    let refusals = Refusals::begin().unwrap();
    // To the loopback interface; what is run by hand goes nowhere, so no port ever takes it.
    let loaded = Loaded::watched(firewall, Onward::Interface(1), Some(&refusals)).unwrap();
    let mut frame = vec![0u8; 60];
    frame[12] = 8;
    frame[14] = 0x45;
    for (source, returned) in
        [(11, bpf::Action::Redirect), (10, bpf::Action::Drop), (11, bpf::Action::Redirect)]
    {
        frame[26] = source;
        assert_eq!(loaded.run(&frame, 1).unwrap().returned, returned as u32);
    }
    assert_eq!((refusals.under_way(), refusals.frames(), refusals.errno()), (2, 0, None));
}
