//! Any bytes are a frame or a named error: no view reads beyond them, what is read is written back as the same
//! bytes, and a template of the frame gives the frame.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::template::{By, Changes, Field, Values, Vary};
use wire::{Signature, Template, Times, arp, ethernet, icmp, icmpv6, ipv4, ipv6, summary, tcp, udp, vlan};

fuzz_target!(|bytes: &[u8]| {
    link(bytes);
    if let Some(tuple) = summary(bytes) {
        let range = tuple.payload_range();
        assert!(range.start <= bytes.len() && range.end <= bytes.len());
        assert_eq!(Signature::find(bytes), Signature::find_in(bytes, &tuple));
    }
    template(bytes);
});

fn link(bytes: &[u8]) {
    let Ok(view) = ethernet::View::new(bytes) else { return };
    let mut room = bytes.to_vec();
    ethernet::Repr::parse(&view).emit(&mut room).expect("there is room");
    assert_eq!(room, bytes);
    // Each reader on the same bytes, whatever type the header names.
    for inner in [view.payload(), bytes] {
        tag(inner);
        resolution(inner);
        network4(inner);
        network6(inner);
    }
}

fn tag(bytes: &[u8]) {
    let Ok(view) = vlan::View::new(bytes) else { return };
    let mut room = bytes.to_vec();
    vlan::Repr::parse(&view).emit(&mut room).expect("what was read fits");
    assert_eq!(room, bytes);
}

fn resolution(bytes: &[u8]) {
    let Ok(repr) = arp::View::new(bytes).and_then(|view| arp::Repr::parse(&view)) else { return };
    let mut room = bytes.to_vec();
    repr.emit(&mut room).expect("there is room");
    assert_eq!(room, bytes);
}

fn network4(bytes: &[u8]) {
    let Ok(view) = ipv4::View::new(bytes) else { return };
    let repr = ipv4::Repr::parse(&view);
    let mut room = bytes[..usize::from(view.total_length())].to_vec();
    repr.emit(&mut room).expect("what was read fits");
    let again = ipv4::View::new(&room).expect("what was written can be read");
    again.verify().expect("a checksum that was written is right");
    assert_eq!(ipv4::Repr::parse(&again), repr);
    let _ = format!("{repr}");
    transport(view.payload(), &view.pseudo());
    if let Ok(echo) = icmp::View::new(view.payload()).and_then(|view| icmp::Repr::parse(&view)) {
        let mut room = view.payload().to_vec();
        echo.emit(&mut room).expect("there is room");
        let again = icmp::View::new(&room).expect("what was written can be read");
        again.verify().expect("a checksum that was written is right");
        assert_eq!(icmp::Repr::parse(&again), Ok(echo));
    }
}

fn network6(bytes: &[u8]) {
    let Ok(view) = ipv6::View::new(bytes) else { return };
    let repr = ipv6::Repr::parse(&view);
    let mut room = bytes[..40 + usize::from(view.payload_length())].to_vec();
    let before = room.clone();
    repr.emit(&mut room).expect("what was read fits");
    assert_eq!(room, before);
    transport(view.payload(), &view.pseudo());
    if let Ok(message) = icmpv6::View::new(view.payload()).and_then(|view| icmpv6::Repr::parse(&view)) {
        let mut room = match message {
            icmpv6::Repr::Echo(_) => view.payload().to_vec(),
            _ => vec![0; message.length()],
        };
        message.emit(&mut room, &view.pseudo()).expect("there is room");
        let again = icmpv6::View::new(&room).expect("what was written can be read");
        again.verify(&view.pseudo()).expect("a checksum that was written is right");
        assert_eq!(icmpv6::Repr::parse(&again), Ok(message));
    }
}

fn transport(bytes: &[u8], pseudo: &wire::checksum::Pseudo) {
    if let Ok(view) = udp::View::new(bytes) {
        let repr = udp::Repr { checksum: true, ..udp::Repr::parse(&view) };
        let mut room = bytes[..usize::from(view.length())].to_vec();
        repr.emit(&mut room, pseudo).expect("what was read fits");
        let again = udp::View::new(&room).expect("what was written can be read");
        again.verify(pseudo).expect("a checksum that was written is right");
        assert_eq!(udp::Repr::parse(&again), repr);
    }
    if let Ok(view) = tcp::View::new(bytes) {
        let repr = tcp::Repr::parse(&view);
        let mut room = bytes.to_vec();
        repr.emit(&mut room, pseudo).expect("what was read fits");
        let again = tcp::View::new(&room).expect("what was written can be read");
        again.verify(pseudo).expect("a checksum that was written is right");
        assert_eq!(tcp::Repr::parse(&again), repr);
    }
}

fn template(bytes: &[u8]) {
    let Ok(template) = Template::from_frames(vec![bytes.to_vec()]) else { return };
    let mut room = vec![0xee; bytes.len() + 1];
    let length = template.write(7, Times::default(), &mut room, &mut 0);
    assert_eq!(&room[..length], bytes);
    // Each field that the frame has, alone: the frame is as long as before, and a value that was there gives
    // the frame back.
    for field in Field::ALL {
        let values = Values::Increment { start: 0, step: 1, count: 2 };
        let vary = vec![Vary { field: *field, values, by: By::Frame }];
        let changes = Changes { vary, ..Changes::default() };
        if let Ok(template) = Template::from_frames_with(vec![bytes.to_vec()], &changes) {
            let length = template.write(1, Times::default(), &mut room, &mut 0);
            assert_eq!(length, bytes.len());
        }
    }
}
