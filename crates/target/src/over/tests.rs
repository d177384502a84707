use super::*;

fn over(change: impl FnOnce(&mut TargetConfig)) -> Result<OverConfig, OverError> {
    let mut config = TargetConfig::default();
    change(&mut config);
    OverConfig::new("mem:a,ip=198.18.0.10-12/24,ip=fd00::10/64".parse().unwrap(), config)
}

#[test]
fn what_it_has_is_taken_over_and_what_it_lacks_is_named() {
    let plain = over(|_| {}).unwrap();
    assert_eq!(plain.urls(), ["http://198.18.0.10:80", "http://[fd00::10]:80"]);
    assert_eq!((plain.settings.size, plain.workers), (Bytes::new(600), 1));
    let listen = over(|config| config.listen = vec!["127.0.0.1:8080".parse().unwrap()]).unwrap();
    assert_eq!(listen.settings.ports, [8080]);
    for (error, said) in [
        (over(|config| config.size = "uniform:1,5".parse().unwrap()), "no --size but a fixed one"),
        (over(|config| config.delay = "5ms".parse().unwrap()), "no --delay"),
        (over(|config| config.proxy = true), "no --proxy-mode"),
        (over(|config| config.faults.reset = "1%".parse().unwrap()), "no faults"),
        (over(|config| config.tls = Some(crate::Tls::default())), "no --tls"),
        (over(|config| config.status = 99), "status 99"),
        (over(|config| config.workers = units::Count::new(0)), "workers must be 1 to 256, not 0"),
    ] {
        let error = error.err().unwrap().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn it_serves_until_it_is_stopped() {
    let running = spawn(&over(|_| {}).unwrap()).unwrap();
    assert!(!running.has_failed());
    assert_eq!(running.stop().unwrap(), Served::default());
}
