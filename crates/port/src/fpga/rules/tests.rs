use super::super::generator::{Even, Gap};
use super::super::registers::SENT;
use super::*;

type Write = (&'static Register, u64);

/// One frame of 60 bytes from a template of one stored beat, and the same again and again.
fn program() -> Vec<Write> {
    let mut all = words(&BEATS, 0, &[0, 0]);
    all.extend(words(&TABLE, 0, &[0, 60, 0, 0, 0, 0, 1]));
    all.extend(words(&FIELDS, 0, &[0; 32]));
    all.extend(words(&SIZES, 0, &[0]));
    all.extend(words(&STREAMS, 0, &[0]));
    all.extend([
        (&LAST_ENTRY, 0),
        (&FRAMES, 10),
        (&GAP_WHOLE, 84),
        (&GAP_NUMERATOR, 0),
        (&GAP_DENOMINATOR, 1),
    ]);
    all
}

fn words(memory: &Memory, at: u64, words: &[u64]) -> Vec<Write> {
    let mut all: Vec<Write> = vec![(&MEMORY, memory.number), (&MEMORY_ADDRESS, at)];
    all.extend(words.iter().map(|word| -> Write { (&MEMORY_DATA, *word) }));
    all
}

const RUN: Write = (&CONTROL, 0b1_0010);

/// The program with this written behind it, and then run.
fn with(more: &[Write]) -> Result<(), Refused> {
    Rules::unknown().check(program().into_iter().chain(more.iter().copied()).chain([RUN]))
}

fn word(memory: &Memory, at: u64, value: u64) -> Result<(), Refused> {
    with(&words(memory, at, &[value]))
}

#[track_caller]
fn says(found: Result<(), Refused>, expected: &str) {
    let said = found.expect_err(expected).to_string();
    assert!(said.contains(expected), "'{said}', not '{expected}'");
}

#[test]
fn a_program_that_is_whole_may_begin() {
    assert_eq!(with(&[]), Ok(()));
    // Of a module that was just reset, what its registers hold is known.
    let memories: Vec<Write> =
        program().into_iter().filter(|(register, _)| register.name.starts_with("memory")).collect();
    assert_eq!(Rules::after_reset().check(memories.into_iter().chain([RUN])), Ok(()));
    for size in [64, 65, 1_518] {
        let even = |size| Even { size, frames: 5, gap: Gap { whole: 84, numerator: 1, denominator: 3 } };
        let writes = even(size).writes();
        assert_eq!(Rules::unknown().check(writes.into_iter().flatten().chain([RUN])), Ok(()), "{size}");
    }
}

#[test]
fn what_nobody_wrote_is_not_run_on() {
    let without = |register: &Register, memory: Option<&Memory>, expected: &str| {
        let mut is_left_out = false;
        let rest = program().into_iter().filter(|(of, written)| {
            // A memory goes with all that is written into it.
            if **of == MEMORY || !of.name.starts_with("memory") {
                is_left_out = **of == *register && memory.is_none_or(|memory| memory.number == *written);
            }
            !is_left_out
        });
        let rest: Vec<Write> = rest.collect();
        assert!(rest.len() < program().len(), "{expected}");
        says(
            Rules::unknown().check(rest.into_iter().chain([RUN])),
            &format!("the generator depends on '{expected}'"),
        );
    };
    without(&MEMORY, Some(&BEATS), "beats, word 0");
    without(&MEMORY, Some(&TABLE), "table, template 0, word 1");
    without(&MEMORY, Some(&FIELDS), "fields, field 0, word 0");
    without(&MEMORY, Some(&SIZES), "sizes, word 0");
    for register in [&LAST_ENTRY, &FRAMES, &GAP_WHOLE, &GAP_NUMERATOR, &GAP_DENOMINATOR] {
        without(register, None, register.name);
    }
    says(with(&[(&CONTROL, 0b1_0010 | 1 << 5)]), "'first_time'");
    says(word(&TABLE, 2, 1 << 31 | 4 << 23 | 1 << 17), "'streams, word 1'");
    says(Rules::unknown().check([RUN]), "control.run = 1: the generator depends on 'gap_whole'");
    says(Rules::unknown().check([(&MEMORY_DATA, 1)]), "memory_data = 1: where it goes is not known");
    says(Rules::after_reset().check([RUN]), "'sizes, word 0'");
}

#[test]
fn gaps_that_cannot_be_are_refused() {
    let gap = |whole, numerator, denominator| {
        with(&[(&GAP_WHOLE, whole), (&GAP_NUMERATOR, numerator), (&GAP_DENOMINATOR, denominator)])
    };
    assert_eq!(gap(1, 4, 5), Ok(()));
    assert_eq!(gap(u32::MAX.into(), 0, 1), Ok(()));
    says(gap(1, 5, 5), "gap_numerator = 5: allowed are 0 to 4, below gap_denominator, which is 5");
    says(gap(1, 7, 5), "gap_numerator = 7: allowed are 0 to 4");
    says(gap(1, 0, 0), "gap_denominator = 0: allowed are 1 to 4294967295");
    says(gap(u32::MAX.into(), 1, 2), "gap_whole = 4294967295: allowed are 0 to 4294967294");
    says(gap(1 << 32, 0, 1), "gap_whole = 4294967296: allowed are 0 to 4294967295");
    // Also where nothing begins, and beside what a register is after reset.
    says(Rules::unknown().check([(&GAP_NUMERATOR, 7), (&GAP_DENOMINATOR, 5)]), "gap_numerator = 7");
    says(Rules::after_reset().check([(&GAP_NUMERATOR, 1)]), "gap_numerator = 1: allowed are 0 to 0");
    assert_eq!(Rules::after_reset().check([(&GAP_NUMERATOR, 1), (&GAP_DENOMINATOR, 2)]), Ok(()));
    says(Rules::unknown().check([(&COMMAND, 2)]), "'gap_whole'");
    says(
        Rules::unknown().check([(&FIRST_TIME, 1 << 62)]),
        "first_time = 4611686018427387904: allowed are 0 to",
    );
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for length in [0, 1, 17, 20, 59, 8_192, 10_000] {
        let expected = format!("table, template 0, word 1 = {length}: allowed are 60 to 8191");
        says(word(&TABLE, 1, length), &expected);
        if length != 0 {
            let of = length & 0x1fff;
            says(
                word(&SIZES, 0, length),
                if of == length && of < 60 { "allowed are 60 to 8191" } else { "allowed are" },
            );
        }
    }
    for length in [60, 1_514, 8_191] {
        assert_eq!((word(&TABLE, 1, length), word(&SIZES, 0, length)), (Ok(()), Ok(())), "{length}");
    }
}

#[test]
fn a_signature_is_inside_of_the_shortest_frame() {
    let signed = |at: u64, length: u64| {
        let start = 1 << 31 | at << 23;
        with(&[words(&TABLE, 2, &[start]), words(&SIZES, 0, &[length])].concat())
    };
    // 18 bytes from halfword 21 end with byte 60, and 4 is behind the addresses' first eight bytes.
    for (at, length, fits) in [
        (4, 0, true),
        (3, 0, false),
        (21, 0, true),
        (22, 0, false),
        (22, 62, true),
        (255, 528, true),
        (255, 527, false),
    ] {
        assert_eq!(signed(at, length).is_ok(), fits, "halfword {at} of {length}");
    }
    says(signed(22, 60), "table, template 0, word 2 = 22: allowed are 4 to 21");
    // Of a list, the shortest frame counts.
    let list =
        [words(&TABLE, 2, &[1 << 31 | 100 << 23]), words(&SIZES, 0, &[500, 217]), vec![(&LAST_ENTRY, 1)]]
            .concat();
    says(
        with(&list),
        "word 2 = 100: allowed are 4 to 99, halfwords at which a signature is inside of a frame of 217 bytes",
    );
    says(Rules::unknown().check([(&LISTEN, 1 | 3 << 1)]), "listen.signature_at = 3: allowed are 4 to 255");
}

#[test]
fn memories_do_not_wrap_around() {
    for (memory, last) in [
        (&BEATS, 8_191),
        (&TABLE, 255),
        (&FIELDS, 31),
        (&GAPS, 4_095),
        (&SIZES, 4_095),
        (&VALUES, 255),
        (&STREAMS, 31),
    ] {
        let (name, number) = (memory.name, memory.number);
        // The last word of a template or field is none.
        let fill = words(memory, last, &[0]);
        assert_eq!(Rules::unknown().check(fill), Ok(()), "{name}");
        let over = Rules::unknown().check(words(memory, last, &[0, 0]));
        let of = format!("the words of memory {number} ({name})");
        says(over, &format!("memory_address = {}: allowed are 0 to {last}, {of}", last + 1));
    }
    says(Rules::unknown().check([(&MEMORY, 7)]), "memory.which = 7: allowed are 0 to 6");
    says(Rules::unknown().check([(&MEMORY_ADDRESS, 8_192)]), "memory_address = 8192: allowed are 0 to 8191");
    says(word(&TABLE, 7, 1), "word 7 = 1: allowed are the bits 0x0");
    says(word(&TABLE, 2, 4_096), "word 2 = 4096: allowed are 0 to 4095, beats");
    says(
        with(&[words(&TABLE, 2, &[4_095]), words(&TABLE, 6, &[2])].concat()),
        "word 6 = 2: allowed are 0 to 1, beats of a memory of 4096, from beat 4095 on",
    );
    says(word(&TABLE, 6, 256), "word 6 = 256: allowed are the bits 0xff");
    says(word(&TABLE, 6, 2), "'beats, word 2'");
    says(word(&SIZES, 0, 1 << 21), "allowed are the bits 0x1f1fff");
    says(word(&SIZES, 0, 3 << 16), "'table, template 3, word 1'");
    says(with(&[(&LAST_ENTRY, 1)]), "'sizes, word 1'");
    says(with(&[(&LAST_ENTRY, 4_096)]), "last_entry = 4096: allowed are 0 to 4095");
    let gaps = Rules::unknown().check(program().into_iter().chain([(&CONTROL, RUN.1 | 4)]));
    says(gaps, "'gaps, word 0'");
}

#[test]
fn lengths_checksums_and_fields_are_inside_of_the_frame() {
    says(
        word(&TABLE, 3, 1 << 31 | 30 << 23),
        "word 3 = 30: allowed are 0 to 29, halfwords inside of a frame of 60 bytes",
    );
    says(
        word(&TABLE, 4, 1 << 31 | 61),
        "word 4 = 61: allowed are 0 to 60, bytes that a length does not count, of 60",
    );
    says(word(&TABLE, 5, 1 << 15 | 30 << 7), "word 5 = 30: allowed are 0 to 29");
    assert_eq!(word(&TABLE, 5, 30 << 7), Ok(()), "it is not used");
    let field =
        |words_of: &[u64]| with(&[words(&FIELDS, 0, words_of), words(&VALUES, 0, &[1, 2, 3])].concat());
    // Templates, flags (11: mode, 10: two halfwords, 7-0: place), first, last, step, where it begins.
    assert_eq!(field(&[1, 29, 5, 9, 2, 7]), Ok(()));
    says(Rules::unknown().check(words(&FIELDS, 0, &[2, 99, 5, 9, 0, 7])), "word 2 = 5: with steps of 0");
    assert_eq!(field(&[0, 99, 5, 9, 0, 7]), Ok(()), "of no template");
    says(field(&[1, 30, 5, 9, 2, 7]), "fields, field 0, word 1 = 30: allowed are 0 to 29");
    says(field(&[1, 1 << 10 | 29, 5, 9, 2, 7]), "word 1 = 29: allowed are 0 to 28");
    says(field(&[1, 3 << 11, 0, 0, 0, 0]), "word 1 = 3: allowed are 0 to 2, modes");
    says(field(&[1, 0, 5, 9, 3, 6]), "word 2 = 5: with steps of 3 it never comes to the last, 9");
    says(field(&[1, 0, 5, 9, 2, 6]), "word 5 = 6: with steps of 2");
    assert_eq!(field(&[1, 0, 0xffff_fffe, 2, 2, 0]), Ok(()), "it goes round");
    says(field(&[1, 2 << 11, 0, 0, 0, 0]), "word 5 = 0: allowed are 1 to 4294967295");
    assert_eq!(field(&[1, 1 << 11, 0, 2, 1, 0]), Ok(()));
    says(field(&[1, 1 << 11, 0, 3, 1, 0]), "'values, word 3'");
    says(field(&[1, 1 << 11, 0, 256, 1, 0]), "word 3 = 256: allowed are 0 to 255, places of the list");
    says(field(&[1, 1 << 11, 3, 2, 1, 0]), "word 2 = 3: allowed are 0 to 2");
}

#[test]
fn single_writes_fit_their_fields() {
    let one = |register, value| Rules::after_reset().check([(register, value)]);
    says(one(&COMMAND, 8), "command = 8: allowed are the bits of its fields, 0x77");
    says(one(&CONTROL, 2 << 5), "control.first_from = 2: allowed are 0 to 1");
    says(one(&CONTROL, 2), "control.from = 0: allowed are 2 to 3");
    says(one(&READ, 3 << 10), "read.what = 3: allowed are 0 to 2");
    says(one(&READ, 2 << 10 | 32), "read.at = 32: allowed are 0 to 31, the streams");
    says(one(&SENT, 0), "it can only be read");
    assert_eq!(one(&CONTROL, 0), Ok(()), "it stands still");
    let late = Rules::unknown().check(program().into_iter().chain([RUN]).chain(words(&BEATS, 0, &[1])));
    says(late, "beats, word 0 = 1: the generator runs");
}

#[test]
fn even_frames_are_checked_like_others() {
    let even = |size, denominator| {
        let even = Even { size, frames: 5, gap: Gap { whole: 84, numerator: 0, denominator } };
        Rules::unknown().check(even.writes().into_iter().flatten().chain([RUN]))
    };
    assert_eq!(even(64, 1), Ok(()));
    says(even(63, 1), "table, template 0, word 1 = 59: allowed are 60 to 8191");
    says(even(0, 1), "word 1 = 0:");
    says(even(10_000, 1), "word 1 = 9996:");
    says(even(64, 0), "gap_denominator = 0");
}
