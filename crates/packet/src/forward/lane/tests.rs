//! Frames through a lane between ports in memory.

use super::*;
use filter::{Firewall, Rules, Shared};
use port::{About, Counters, Slot, mem};

/// An IPv4 frame of 60 bytes from 10.0.0.`last`.
fn frame(last: u8) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[26..30].copy_from_slice(&[10, 0, 0, last]);
    frame
}

fn send(port: &mut dyn Port, lasts: impl IntoIterator<Item = u8>) {
    for last in lasts {
        let bytes = frame(last);
        let taken = port.transmit(1, &mut |slot| {
            slot.data[..bytes.len()].copy_from_slice(&bytes);
            slot.length = bytes.len();
        });
        assert_eq!(taken.unwrap(), 1);
    }
}

fn seen(port: &mut dyn Port) -> Vec<u8> {
    let mut seen = Vec::new();
    port.receive(1_000, &mut |frame| seen.push(frame.data[29])).unwrap();
    seen
}

fn judge(text: &str) -> (std::sync::Arc<Shared>, Work) {
    let shared = Shared::new(Firewall::compile(&Rules::parse(text, "r").unwrap()).unwrap());
    let view = Work::Judge(Box::new(shared.view()));
    (shared, view)
}

#[test]
fn frames_pass_or_are_filtered_in_order_and_answers_go_back() {
    let ((mut left, near), (far, mut right)) = (mem::pair(64, 100), mem::pair(64, 100));
    let (shared, work) = judge("drop from 10.0.0.2\ndrop from 10.0.0.4/31");
    let mut lane = Lane::new(Box::new(near), Some(Box::new(far)), work, Full::Wait, Back::Pass);
    send(&mut left, 1..=6);
    send(&mut right, [2, 9]);
    let mut moved = Moved::default();
    lane.round(64, &mut moved).unwrap();
    assert_eq!(seen(&mut right), [1, 3, 6]);
    assert_eq!(seen(&mut left), [2, 9], "the way back is not judged");
    assert_eq!((moved.arrived, moved.forwarded, moved.filtered), (8, 5, 3));
    lane.hand_over();
    let frames: Vec<u64> = shared.hits().0.rules().iter().map(|hit| hit.frames).collect();
    assert_eq!(frames, [1, 2]);
}

#[test]
fn a_full_port_holds_frames_back_or_has_them_counted_as_missed() {
    for full in [Full::Wait, Full::Drop { tries: 3 }] {
        let ((mut left, near), (far, mut right)) = (mem::pair(64, 100), mem::pair(4, 100));
        let mut lane = Lane::new(Box::new(near), Some(Box::new(far)), Work::Pass, full, Back::Nothing);
        send(&mut left, 1..=10);
        let mut moved = Moved::default();
        for _ in 0..10 {
            lane.round(64, &mut moved).unwrap();
        }
        assert_eq!((moved.arrived, moved.forwarded), (10, 4));
        assert_eq!(seen(&mut right), [1, 2, 3, 4]);
        match full {
            Full::Wait => {
                lane.round(64, &mut moved).unwrap();
                assert_eq!((seen(&mut right), moved.full), (vec![5, 6, 7, 8], 0));
                assert_eq!(lane.give_up(), 2);
            }
            Full::Drop { .. } => assert_eq!((moved.full, lane.give_up()), (6, 0)),
        }
    }
}

/// A port without a link.
struct Unplugged(About);

impl Port for Unplugged {
    fn about(&self) -> &About {
        &self.0
    }
    fn transmit(&mut self, _: usize, _: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        Err(PortError::Down { interface: "gone0".to_owned() })
    }
    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Ok(0)
    }
    fn flush(&mut self, _: Picos) -> Result<bool, PortError> {
        Ok(true)
    }
    fn wait(&mut self, _: For, _: Picos) -> Result<bool, PortError> {
        Ok(false)
    }
    fn counters(&mut self) -> Result<&Counters, PortError> {
        Err(PortError::Down { interface: "gone0".to_owned() })
    }
}

#[test]
fn a_link_that_is_down_is_no_place_to_wait_and_every_frame_is_counted() {
    let (mut left, near) = mem::pair(64, 100);
    let far = Unplugged(About { longest: 100, ..About::default() });
    let mut lane = Lane::new(Box::new(near), Some(Box::new(far)), Work::Pass, Full::Wait, Back::Nothing);
    let mut moved = Moved::default();
    for first in [1, 21, 41] {
        send(&mut left, first..first + 20);
        lane.round(64, &mut moved).unwrap();
    }
    assert_eq!((moved.arrived, moved.down, moved.ended(), lane.give_up()), (60, 60, 60, 0));
}

#[test]
fn what_is_too_long_for_the_other_port_is_counted_and_a_closed_port_ends_the_lane() {
    let ((mut left, near), (far, mut right)) = (mem::pair(8, 2_000), mem::pair(8, 100));
    let mut lane = Lane::new(Box::new(near), Some(Box::new(far)), Work::Pass, Full::Wait, Back::Nothing);
    left.transmit(1, &mut |slot| slot.length = 1_000).unwrap();
    send(&mut left, [7]);
    drop(left);
    let mut moved = Moved::default();
    for _ in 0..3 {
        lane.round(64, &mut moved).unwrap();
    }
    assert_eq!((moved.too_long, moved.forwarded, moved.ended()), (1, 1, 2));
    assert_eq!(seen(&mut right), [7]);
    assert!(lane.is_over());
}

#[test]
fn without_another_port_frames_are_counted_and_freed() {
    let (mut left, near) = mem::pair(64, 100);
    let (_, work) = judge("drop from 10.0.0.1");
    let mut lane = Lane::new(Box::new(near), None, work, Full::Wait, Back::Pass);
    send(&mut left, 1..=5);
    let mut moved = Moved::default();
    lane.round(64, &mut moved).unwrap();
    assert_eq!((moved.received, moved.received_bytes, moved.filtered), (4, 240, 1));
}
