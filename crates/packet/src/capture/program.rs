//! Filters in pcap syntax (pcap-filter(7)), compiled by libpcap, which is loaded when a filter is asked for.
//!
//! ```text
//! "udp port 9" ─ libpcap ─► classic BPF ─┬─► the port, if the kernel can filter there
//!                                        └─► run here, frame by frame
//! ```

use crate::PacketError;
use libloading::Library;
use port::Instruction;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

/// Names under which distributions have it.
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];
const ETHERNET: c_int = 1;
/// What a matching program returns, at most: all bytes.
const SNAP: c_int = 262_144;
/// Like tcpdump without an interface: the expression may not ask for broadcast addresses of IPv4.
const NO_NETMASK: u32 = u32::MAX;
/// Words of scratch memory that a program has.
const MEMORY: usize = 16;
/// A program jumps back only for `protochain`, from one header to the next; this many steps are never needed.
const STEPS: usize = 8_192;

/// Bytes before a tag: both addresses.
const ADDRESSES: usize = 12;
/// Kinds of frames that are tags.
const TAGS: [u32; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];

/// A filter, as typed and as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub text: String,
    pub instructions: Arc<[Instruction]>,
}

/// libpcap's `struct bpf_program`.
#[repr(C)]
struct Compiled {
    length: u32,
    instructions: *mut Instruction,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut c_void;
type Compile = unsafe extern "C" fn(*mut c_void, *mut Compiled, *const c_char, c_int, u32) -> c_int;
type ErrorText = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type FreeCode = unsafe extern "C" fn(*mut Compiled);
type Close = unsafe extern "C" fn(*mut c_void);

/// Compiles an expression for Ethernet frames.
///
/// # Errors
/// libpcap's words about the expression, or where libpcap is to be had.
pub fn compile(text: &str) -> Result<Program, PacketError> {
    let wrong = |why: String| PacketError::Wrong(format!("filter '{text}': {why}"));
    let typed = CString::new(text).map_err(|_| wrong("has a NUL byte in it; leave it out".to_owned()))?;
    let library = load().map_err(wrong)?;
    let instructions = compile_by(&library, &typed).map_err(wrong)?;
    Ok(Program { text: text.to_owned(), instructions: instructions.into() })
}

fn load() -> Result<Library, String> {
    let mut said = String::new();
    for name in NAMES {
        // SAFETY: libpcap's initialisers do nothing but set up its own data.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => said = error.to_string(),
        }
    }
    Err(format!("needs libpcap, which is not installed ({said}); on Debian: apt-get install libpcap0.8"))
}

fn compile_by(library: &Library, text: &CStr) -> Result<Vec<Instruction>, String> {
    let missing = |error: libloading::Error| format!("this libpcap lacks a function: {error}");
    // SAFETY: pcap_open_dead(3PCAP) has this signature.
    let open = unsafe { library.get::<OpenDead>(b"pcap_open_dead\0") }.map_err(missing)?;
    // SAFETY: pcap_compile(3PCAP) has this signature; bpf_u_int32 is u32.
    let compile = unsafe { library.get::<Compile>(b"pcap_compile\0") }.map_err(missing)?;
    // SAFETY: pcap_geterr(3PCAP) has this signature.
    let error_text = unsafe { library.get::<ErrorText>(b"pcap_geterr\0") }.map_err(missing)?;
    // SAFETY: pcap_freecode(3PCAP) has this signature.
    let free = unsafe { library.get::<FreeCode>(b"pcap_freecode\0") }.map_err(missing)?;
    // SAFETY: pcap_close(3PCAP) has this signature.
    let close = unsafe { library.get::<Close>(b"pcap_close\0") }.map_err(missing)?;

    // SAFETY: takes two numbers.
    let handle = unsafe { open(ETHERNET, SNAP) };
    if handle.is_null() {
        return Err("libpcap has no memory for it".to_owned());
    }
    let mut compiled = Compiled { length: 0, instructions: std::ptr::null_mut() };
    // SAFETY: the handle is open, the program is ours to be filled, the text ends with a NUL.
    let status = unsafe { compile(handle, &mut compiled, text.as_ptr(), 1, NO_NETMASK) };
    let outcome = if status == 0 && !compiled.instructions.is_null() {
        // SAFETY: libpcap filled in that many instructions, laid out as `struct bpf_insn`, which `Instruction`
        // is.
        let code = unsafe { std::slice::from_raw_parts(compiled.instructions, compiled.length as usize) };
        let code = code.to_vec();
        // SAFETY: the program was filled by pcap_compile and is freed once.
        unsafe { free(&mut compiled) };
        Ok(code)
    } else {
        // SAFETY: the handle is open.
        let said = unsafe { error_text(handle) };
        if said.is_null() {
            Err("libpcap refuses it".to_owned())
        } else {
            // SAFETY: a string that ends with a NUL and lives as long as the handle.
            Err(unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned())
        }
    };
    // SAFETY: the handle is open and is not used again.
    unsafe { close(handle) };
    outcome
}

impl Program {
    /// Whether a frame passes. `length` is its length on the wire. A program that does what none may (reads
    /// beyond the frame, divides by zero) lets nothing pass, as in the kernel.
    #[inline]
    pub fn passes(&self, data: &[u8], length: usize) -> bool {
        run(&self.instructions, data, length).is_some_and(|kept| kept > 0)
    }

    /// Whether it has a loop (`protochain`), which the kernel refuses.
    pub fn has_loop(&self) -> bool {
        // BPF_JMP | BPF_JA.
        self.instructions.iter().any(|step| step.code == 0x05 && (step.k as i32) < 0)
    }

    /// Whether it asks for tags, which the kernel keeps beside a frame rather than in it: by their word, by the
    /// number that stands in place of the kind (`ether proto 0x8100`), or by bytes that they move
    /// (`ether[12:2]`).
    pub fn asks_for_tags(&self) -> bool {
        let mut words = self.text.split(|letter: char| !letter.is_ascii_alphanumeric());
        let plain: String = self.text.split_whitespace().collect();
        let moved = |bytes: &str| plain.split(bytes).skip(1).any(is_moved);
        words.any(|word| word == "vlan")
            || moved("ether[")
            || moved("link[")
            || self.compares_kinds_with_tags()
    }

    /// Whether it compares the kind of a frame, which stands where a tag's does, with that of tags. (Ports and
    /// other fields may have the same number.)
    fn compares_kinds_with_tags(&self) -> bool {
        let mut is_kind = false;
        self.instructions.iter().any(|step| {
            // BPF_LD of whatever: the half-word at 12.
            if step.code & 0x07 == 0 {
                is_kind = step.code == 0x28 && step.k == 12;
            }
            // BPF_JMP | BPF_JEQ | BPF_K.
            is_kind && step.code == 0x15 && TAGS.contains(&step.k)
        })
    }
}

/// Whether a tag moves the bytes of what follows `ether[`: `12:2]…`, but not `0]…`, which is of an address.
fn is_moved(rest: &str) -> bool {
    let inner = rest.split(']').next().unwrap_or_default();
    let (at, size) = inner.split_once(':').unwrap_or((inner, "1"));
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number(at).zip(number(size)).is_none_or(|(at, size): (usize, usize)| at.saturating_add(size) > ADDRESSES)
}

/// Classic BPF (McCanne, Jacobson 1993; linux/filter.h), without the kernel's extensions.
fn run(program: &[Instruction], data: &[u8], length: usize) -> Option<u32> {
    let (mut a, mut x, mut memory, mut at) = (0_u32, 0_u32, [0_u32; MEMORY], 0_usize);
    for _ in 0..STEPS {
        let step = program.get(at)?;
        at += 1;
        let k = step.k;
        let operand = if step.code & 0x08 != 0 { x } else { k };
        match step.code & 0x07 {
            // Loads into A, and X with 1; MSH is for X only.
            kind @ (0 | 1) => {
                let value = match step.code & 0xe0 {
                    0x00 => k,
                    0x20 => load_sized(data, k as usize, step.code)?,
                    0x40 => load_sized(data, (x as usize).checked_add(k as usize)?, step.code)?,
                    0x60 => *memory.get(k as usize)?,
                    0x80 => length as u32,
                    0xa0 => u32::from(data.get(k as usize)? & 0x0f) * 4,
                    _ => return None,
                };
                *(if kind == 0 { &mut a } else { &mut x }) = value;
            }
            2 => *memory.get_mut(k as usize)? = a,
            3 => *memory.get_mut(k as usize)? = x,
            4 => a = arithmetic(step.code & 0xf0, a, operand)?,
            5 => {
                let holds = match step.code & 0xf0 {
                    0x00 => {
                        at = at.checked_add_signed(k as i32 as isize)?;
                        continue;
                    }
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    0x40 => a & operand != 0,
                    _ => return None,
                };
                at += usize::from(if holds { step.jt } else { step.jf });
            }
            6 => return Some(if step.code & 0x18 == 0x10 { a } else { k }),
            _ if step.code & 0xf8 == 0x00 => x = a,
            _ => a = x,
        }
    }
    None
}

fn arithmetic(operation: u16, a: u32, by: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(by),
        0x10 => a.wrapping_sub(by),
        0x20 => a.wrapping_mul(by),
        0x30 => a.checked_div(by)?,
        0x40 => a | by,
        0x50 => a & by,
        0x60 => a.checked_shl(by).unwrap_or(0),
        0x70 => a.checked_shr(by).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(by)?,
        0xa0 => a ^ by,
        _ => return None,
    })
}

fn load_sized(data: &[u8], at: usize, code: u16) -> Option<u32> {
    let bytes = data.get(at..)?;
    Some(match code & 0x18 {
        0x00 => u32::from_be_bytes(*bytes.first_chunk()?),
        0x08 => u32::from(u16::from_be_bytes(*bytes.first_chunk()?)),
        0x10 => u32::from(*bytes.first()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ethernet, IPv4, UDP from 198.18.0.1:1024 to 198.18.0.2:port.
    fn frame(port: u16) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[23] = 17;
        frame[26..34].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
        frame[34..36].copy_from_slice(&[4, 0]);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    }

    #[test]
    fn an_expression_chooses_what_it_says() {
        let passes = |text: &str, port| compile(text).unwrap().passes(&frame(port), 60);
        assert!(passes("udp port 9", 9));
        assert!(!passes("udp port 9", 10));
        assert!(passes("src host 198.18.0.1 and not tcp", 10));
        assert!(!passes("src net 198.19.0.0/16", 10));
        assert!(passes("len <= 60", 1) && !passes("len > 60", 1));
        assert!(passes("udp[2:2] & 1 = 1", 9) && !passes("udp[2:2] & 1 = 1", 8));
        assert!(passes("ether[12:2] * 2 = 0x1000", 8));
    }

    #[test]
    fn what_is_wrong_is_said_in_libpcaps_words() {
        let said = compile("udp prot 9").unwrap_err().to_string();
        assert!(said.starts_with("filter 'udp prot 9': ") && said.contains("syntax error"), "{said}");
    }

    #[test]
    fn tags_are_asked_for_by_their_word() {
        let asks = |text: &str| Program { text: text.to_owned(), instructions: [].into() }.asks_for_tags();
        assert!(asks("vlan 100") && asks("udp or (vlan and ip)"));
        assert!(!asks("host vlan100"));
    }

    #[test]
    fn a_filter_that_looks_for_a_tag_by_its_bytes_sees_the_frame_as_it_came() {
        let mut tagged = frame(9);
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        for text in ["ether[12:2]=0x8100", "ether proto 0x8100", "ether [ 15 ] = 5", "link[12:2] = 0x8100"] {
            let program = compile(text).unwrap();
            assert!(program.asks_for_tags(), "{text}");
            assert!(program.passes(&tagged, tagged.len()) && !program.passes(&frame(9), 60), "{text}");
        }
        // The kinds of tags, as ports and lengths; bytes of addresses.
        for text in [
            "udp port 33024",
            "ip[2:2] = 33024",
            "tcp port 34984 or udp src port 37120",
            "ether[0] & 1 = 0 and udp port 9",
            "ether[6:4] = 1",
        ] {
            assert!(!compile(text).unwrap().asks_for_tags(), "{text}");
        }
        assert!(compile("ether[11:2] = 1").unwrap().asks_for_tags());
        for text in ["udp port 9", "ip", "ether host 02:00:00:00:00:01", "udp[2:2] = 9", "not arp"] {
            assert!(!compile(text).unwrap().asks_for_tags(), "{text}");
        }
    }

    #[test]
    fn a_chain_of_headers_is_followed_to_its_end() {
        // IPv6, hop-by-hop options, destination options, UDP.
        let chain = |last: u8| {
            let mut frame = vec![0; 14 + 40 + 8 + 8 + 8];
            frame[12..14].copy_from_slice(&[0x86, 0xdd]);
            frame[14] = 0x60;
            (frame[20], frame[54], frame[62]) = (0, 60, last);
            frame
        };
        let program = compile("ip6 protochain 17").unwrap();
        assert!(program.has_loop() && !compile("udp port 9").unwrap().has_loop());
        let passes = |frame: Vec<u8>| program.passes(&frame, frame.len());
        assert!(passes(chain(17)) && !passes(chain(6)) && !passes(frame(9)));
    }

    proptest! {
        /// Whatever bytes stand in a program: it ends, and reads nothing outside of the frame.
        #[test]
        fn no_program_does_harm(
            code in prop::collection::vec((any::<u16>(), any::<u8>(), any::<u8>(), any::<u32>()), 0..64),
            data in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let steps = code.into_iter().map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
            let _ = run(&steps.collect::<Vec<_>>(), &data, data.len());
        }
    }
}
