//! Every field of a plan: its path in TOML and the flag that sets it.

/// `(path in the TOML file, how a person gives it on the command line)`, in canonical order.
pub const FIELDS: &[(&str, &str)] = &[
    ("url", "URL"),
    ("file", "FILE"),
    ("order", "--order"),
    ("seed", "--seed"),
    ("requests", "[[requests]]"),
    ("load.parallel", "--parallel"),
    ("load.rate", "--rate"),
    ("load.poisson", "--poisson"),
    ("load.ramp", "--ramp"),
    ("load.step", "--step"),
    ("load.stages", "--stages"),
    ("load.sine", "--sine"),
    ("load.burst", "--burst"),
    ("load.at", "--at"),
    ("load.jitter", "--jitter"),
    ("stop.duration", "--duration"),
    ("stop.requests", "--requests"),
    ("stop.grace", "--grace"),
    ("stop.warmup", "--warmup"),
    ("request.method", "--method"),
    ("request.headers", "--header"),
    ("request.body", "--body"),
    ("request.body_file", "--body @FILE"),
    ("request.body_stream", "--body-stream"),
    ("request.http", "--http"),
    ("request.user", "--user"),
    ("request.host", "--host"),
    ("request.expect_continue", "--expect-continue"),
    ("request.follow", "--follow"),
    ("request.templates", "--no-templates"),
    ("request.timeout", "--timeout"),
    ("request.idle_timeout", "--idle-timeout"),
    ("request.same_checksum", "--same-checksum"),
    ("request.expect.status", "--expect-status"),
    ("request.expect.body_contains", "--expect-body"),
    ("request.expect.md5", "--expect-md5"),
    ("request.expect.sha256", "--expect-sha256"),
    ("connection.keep_alive", "--no-keep-alive"),
    ("connection.requests_per_connection", "--requests-per-connection"),
    ("connection.pipeline", "--pipeline"),
    ("connection.ramp_connections", "--ramp-connections"),
    ("connection.max_open", "--max-open"),
    ("connection.source_ips", "--source-ip"),
    ("connection.proxy", "--proxy"),
    ("connection.unix", "--unix"),
    ("connection.no_delay", "--nagle"),
    ("connection.throttle", "--throttle"),
    ("tls.ca", "--ca"),
    ("tls.cert", "--cert"),
    ("tls.key", "--key"),
    ("tls.insecure", "--insecure"),
    ("tls.min", "--tls-min"),
    ("tls.max", "--tls-max"),
    ("tls.ciphers", "--ciphers"),
    ("tls.resumption", "--no-resumption"),
    ("tls.server_name", "--sni"),
    ("tls.alpn", "--alpn"),
    ("resolve.fixed", "--resolve"),
    ("resolve.family", "--ipv4/--ipv6"),
    ("resolve.every", "--resolve-every"),
    ("engine.threads", "--threads"),
    ("engine.cpus", "--cpus"),
    ("engine.spin", "--spin"),
    ("engine.priority", "--priority"),
    ("engine.io", "--io"),
    ("limits.fail_if", "--fail-if"),
    ("limits.abort_if", "--abort-if"),
];

/// The flag for a TOML path. `request.headers[2]` has the flag of `request.headers`; what stands in
/// `[[requests]]` has none.
pub fn flag_of(path: &str) -> Option<&'static str> {
    let stem = path.split('[').next().unwrap_or(path);
    if stem == "requests" && path != stem {
        return None;
    }
    FIELDS.iter().find(|(field, _)| *field == stem).map(|(_, flag)| *flag)
}

/// Paths whose last part is `key`: where a key that was put in the wrong section belongs.
pub fn sections_with(key: &str) -> Option<&'static str> {
    FIELDS.iter().map(|(field, _)| *field).find(|field| field.rsplit('.').next() == Some(key))
}
