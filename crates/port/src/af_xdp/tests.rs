//! Metadata before frames, as the kernel itself takes it: on a veth in a namespace of the test.

#[path = "../../tests/all/veth.rs"]
#[allow(dead_code, reason = "the tests of the ports use the rest")]
mod veth;

use super::launch::{HAS_METADATA, METADATA, lay_out};
use super::ring::Descriptor;
use super::socket::{COPY, Layout, Socket, USE_NEED_WAKEUP};
use super::*;
use crate::{Direction, Wish};
use veth::apart;

const LAYOUT: Layout = Layout { chunk: 2048, transmit: 64, receive: 0, metadata: METADATA };

/// Sends one frame from chunk 0 with what `before` writes before it; what the kernel said.
fn send(socket: &mut Socket, options: u32, before: impl FnOnce(&mut [u8])) -> std::io::Result<()> {
    let room = socket.chunks.bytes_mut(0, 2048).unwrap();
    let (metadata, data) = room.split_at_mut(METADATA);
    before(metadata);
    data[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    for (index, byte) in data[14..60].iter_mut().enumerate() {
        *byte = index as u8;
    }
    let ring = socket.transmit.as_mut().unwrap();
    ring.room(1);
    ring.put(0, Descriptor { address: METADATA as u64, length: 60, options });
    ring.publish(1);
    socket.kick_transmit()
}

#[test]
fn the_kernel_reads_the_metadata_where_it_is_written_and_sends_the_frame_behind_it() {
    apart(1, || {
        let wish = Wish { direction: Direction::Receive, ..Wish::default() };
        let mut rx = crate::open(&"xdp:v1".parse().unwrap(), &wish).unwrap();
        let interface = Interface::find("v0").unwrap();
        let mut socket = Socket::open(interface.index, 0, &LAYOUT, COPY | USE_NEED_WAKEUP).unwrap();
        // A time long ago: a driver that knows of launch times would send at once, too.
        send(&mut socket, HAS_METADATA, |metadata| lay_out(metadata, 1)).unwrap();
        let mut seen = Vec::new();
        assert!(rx.wait(For::Receive, Picos::from_secs(2)).unwrap(), "a frame arrives");
        rx.receive(9, &mut |frame| seen.push(frame.data.to_vec())).unwrap();
        let expected: Vec<u8> = (0..46).collect();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0][14..], expected);
        // A flag that no kernel knows, where the flags are: refused. So that is where the kernel looks.
        let refused = send(&mut socket, HAS_METADATA, |metadata| {
            lay_out(metadata, 1);
            metadata[7] = 0x80;
        });
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    });
}

#[test]
fn a_veth_keeps_no_launch_time_and_the_port_says_so() {
    apart(1, || {
        let port = crate::open(&"xdp:v0".parse().unwrap(), &Wish::transmit()).unwrap();
        assert!(!port.about().can.launch_time);
        let choice = port.about().choices.iter().find(|choice| choice.what == "launch time").unwrap();
        assert_eq!(
            (choice.chosen.as_str(), choice.why.as_str()),
            ("no", "veth: the driver offers no launch time")
        );
    });
}
