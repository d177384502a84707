//! Command lines of those whom Tare is set beside.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

/// A frame of `size` bytes with FCS (which is not in it): Ethernet, IPv4, UDP to port 9; the rest is zero.
pub fn frame(size: usize) -> Vec<u8> {
    let mut frame = vec![0u8; size - 4];
    frame[..14].copy_from_slice(&[2, 0x18, 0, 0, 0, 2, 2, 0x18, 0, 0, 0, 1, 8, 0]);
    let total = (frame.len() - 14) as u16;
    frame[14..34].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    let words = frame[14..34].chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(((folded & 0xffff) + (folded >> 16)) as u16)).to_be_bytes());
    frame[34..38].copy_from_slice(&[0x10, 0, 0, 9]);
    frame[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    frame
}

/// A capture file (pcap, microseconds) of `count` such frames, one a second.
pub fn pcap(path: &Path, size: usize, count: usize) -> Result<()> {
    let frame = frame(size);
    let length = (frame.len() as u32).to_le_bytes();
    let mut file = BufWriter::new(fs::File::create(path)?);
    // Magic, version 2.4, zone, accuracy, snap length, Ethernet.
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.write_all(&word.to_le_bytes())?;
    }
    for second in 0..count as u32 {
        file.write_all(&second.to_le_bytes())?;
        file.write_all(&[0; 4])?;
        file.write_all(&length)?;
        file.write_all(&length)?;
        file.write_all(&frame)?;
    }
    Ok(file.flush()?)
}

/// trafgen's own language for the same frame.
pub fn trafgen_file(path: &Path, size: usize) -> Result<()> {
    let bytes: Vec<String> = frame(size).iter().map(|byte| format!("{byte:#04x}")).collect();
    Ok(fs::write(path, format!("{{ {} }}\n", bytes.join(", ")))?)
}

pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// One forwarding core (0), the other for its command line; frames without FCS.
pub fn testpmd(driver: &str, interface: &str, mode: &str, size: usize) -> Vec<String> {
    words(&format!(
        "dpdk-testpmd --no-huge -m 256 --no-pci --no-telemetry --file-prefix={} -l 0,1 --main-lcore 1 \
         --vdev={driver}0,iface={interface} -- --nb-cores=1 --total-num-mbufs=8192 --forward-mode={mode} --txpkts={}",
        testpmd_prefix(),
        size - 4
    ))
}

fn testpmd_prefix() -> String {
    format!("tare-bench-{}", std::process::id())
}

/// What testpmd leaves behind.
pub fn clean_up_testpmd() {
    let _ = fs::remove_dir_all(Path::new("/var/run/dpdk").join(testpmd_prefix()));
}

/// What Debian calls their packages' versions; "absent" where one is not there.
pub fn versions() -> Vec<(&'static str, String)> {
    const PACKAGES: [&str; 9] = [
        "netsniff-ng",
        "tcpreplay",
        "dpdk-dev",
        "iperf3",
        "tcpdump",
        "wireshark-common",
        "xdp-tools",
        "nftables",
        "iproute2",
    ];
    let version = |package| {
        let said =
            std::process::Command::new("dpkg-query").args(["-W", "-f=${Version}", package]).output().ok()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        (said.status.success() && !text.is_empty()).then_some(text)
    };
    PACKAGES.map(|package| (package, version(package).unwrap_or_else(|| "absent".into()))).to_vec()
}
