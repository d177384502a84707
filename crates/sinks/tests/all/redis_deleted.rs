//! Entries that somebody deletes while a run goes on.

use crate::redis::{Server, begun, event, events_key};
use redis::Commands;

#[test]
fn what_somebody_deleted_is_counted() {
    let server = Server::start("");
    let mut exporter = begun(&server.url("?events=1"));
    exporter.events(0, &(0..5_000).map(event).collect::<Vec<_>>()).unwrap();
    let mut client = server.client();
    let _: usize = client.del(events_key(0)).unwrap();
    exporter.events(0, &(5_000..7_000).map(event).collect::<Vec<_>>()).unwrap();
    exporter.flush().unwrap();
    let gone = exporter.gone();
    assert_eq!((gone.rows, gone.events), (0, 5_000));
    assert!(gone.why.contains("somebody deleted them"), "{gone:?}");
    exporter.flush().unwrap();
    assert_eq!(exporter.gone().events, 0, "each counts once");
}
