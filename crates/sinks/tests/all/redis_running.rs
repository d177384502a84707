//! A run that is asked for before it has ended.

use crate::redis::{RUN, Server, begun, row};
use std::time::Duration;

#[test]
fn a_run_that_goes_on_is_not_called_killed() {
    let server = Server::start("");
    let url = format!("redis://127.0.0.1:{}/{RUN}", server.port);
    let read = |seconds_ago: u64| {
        let mut exporter = begun(&server.url(""));
        // Its last interval, of one second, began a second after the origin.
        exporter.start(clock::unix_ns() - Duration::from_secs(seconds_ago + 2).as_nanos() as u64);
        (0..2).for_each(|index| exporter.interval(&row(index)).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let read = sinks::fetch_redis(&url, folder.path()).map_err(|why| why.to_string());
        redis::cmd("FLUSHALL").query::<()>(&mut server.client()).unwrap();
        read.map(|()| store::load_run(folder.path()).unwrap().result.partial)
    };
    let running = read(1).unwrap_err();
    assert!(running.contains(&format!("the run {RUN} is still running")), "{running}");
    assert_eq!(read(60), Ok(true));
}
