"""The arguments of tare.http and tare.send. Made by fields.py from the fields of plans; do not edit."""

from __future__ import annotations

import datetime
import os
from typing import Any, TypedDict, Union

Value = Union[str, int, float, bool, datetime.timedelta, os.PathLike[str], list[Any], dict[str, Any]]
"""As in a plan: "20k", 400, "250ms", a timedelta; a list where several may stand."""


class HttpFields(TypedDict, total=False):
    order: Value
    """`order` of a plan; --order of tare http."""
    seed: Value
    """`seed` of a plan; --seed of tare http."""
    parallel: Value
    """`load.parallel` of a plan; --parallel of tare http."""
    rate: Value
    """`load.rate` of a plan; --rate of tare http."""
    poisson: Value
    """`load.poisson` of a plan; --poisson of tare http."""
    ramp: Value
    """`load.ramp` of a plan; --ramp of tare http."""
    step: Value
    """`load.step` of a plan; --step of tare http."""
    stages: Value
    """`load.stages` of a plan; --stages of tare http."""
    sine: Value
    """`load.sine` of a plan; --sine of tare http."""
    burst: Value
    """`load.burst` of a plan; --burst of tare http."""
    at: Value
    """`load.at` of a plan; --at of tare http."""
    jitter: Value
    """`load.jitter` of a plan; --jitter of tare http."""
    duration: Value
    """`stop.duration` of a plan; --duration of tare http."""
    requests: Value
    """`stop.requests` of a plan; --requests of tare http."""
    grace: Value
    """`stop.grace` of a plan; --grace of tare http."""
    warmup: Value
    """`stop.warmup` of a plan; --warmup of tare http."""
    method: Value
    """`request.method` of a plan; --method of tare http."""
    headers: Value
    """`request.headers` of a plan; --header of tare http."""
    body: Value
    """`request.body` of a plan; --body of tare http."""
    body_file: Value
    """`request.body_file` of a plan; --body @FILE of tare http."""
    body_stream: Value
    """`request.body_stream` of a plan; --body-stream of tare http."""
    http: Value
    """`request.http` of a plan; --http of tare http."""
    user: Value
    """`request.user` of a plan; --user of tare http."""
    host: Value
    """`request.host` of a plan; --host of tare http."""
    expect_continue: Value
    """`request.expect_continue` of a plan; --expect-continue of tare http."""
    follow: Value
    """`request.follow` of a plan; --follow of tare http."""
    templates: Value
    """`request.templates` of a plan; --no-templates of tare http."""
    timeout: Value
    """`request.timeout` of a plan; --timeout of tare http."""
    idle_timeout: Value
    """`request.idle_timeout` of a plan; --idle-timeout of tare http."""
    same_checksum: Value
    """`request.same_checksum` of a plan; --same-checksum of tare http."""
    expect_status: Value
    """`request.expect.status` of a plan; --expect-status of tare http."""
    expect_body: Value
    """`request.expect.body_contains` of a plan; --expect-body of tare http."""
    expect_md5: Value
    """`request.expect.md5` of a plan; --expect-md5 of tare http."""
    expect_sha256: Value
    """`request.expect.sha256` of a plan; --expect-sha256 of tare http."""
    keep_alive: Value
    """`connection.keep_alive` of a plan; --no-keep-alive of tare http."""
    requests_per_connection: Value
    """`connection.requests_per_connection` of a plan; --requests-per-connection of tare http."""
    close: Value
    """`connection.close` of a plan; --close of tare http."""
    pipeline: Value
    """`connection.pipeline` of a plan; --pipeline of tare http."""
    ramp_connections: Value
    """`connection.ramp_connections` of a plan; --ramp-connections of tare http."""
    max_open: Value
    """`connection.max_open` of a plan; --max-open of tare http."""
    open_all: Value
    """`connection.open_all` of a plan; --open-all of tare http."""
    source_ips: Value
    """`connection.source_ips` of a plan; --source-ip of tare http."""
    proxy: Value
    """`connection.proxy` of a plan; --proxy of tare http."""
    unix: Value
    """`connection.unix` of a plan; --unix of tare http."""
    via: Value
    """`connection.via` of a plan; --via of tare http."""
    via_path: Value
    """`connection.via_path` of a plan; --via-path of tare http."""
    share_address: Value
    """`connection.share_address` of a plan; --share-address of tare http."""
    no_delay: Value
    """`connection.no_delay` of a plan; --nagle of tare http."""
    throttle: Value
    """`connection.throttle` of a plan; --throttle of tare http."""
    ca: Value
    """`tls.ca` of a plan; --ca of tare http."""
    cert: Value
    """`tls.cert` of a plan; --cert of tare http."""
    key: Value
    """`tls.key` of a plan; --key of tare http."""
    insecure: Value
    """`tls.insecure` of a plan; --insecure of tare http."""
    tls_min: Value
    """`tls.min` of a plan; --tls-min of tare http."""
    tls_max: Value
    """`tls.max` of a plan; --tls-max of tare http."""
    ciphers: Value
    """`tls.ciphers` of a plan; --ciphers of tare http."""
    resumption: Value
    """`tls.resumption` of a plan; --no-resumption of tare http."""
    sni: Value
    """`tls.server_name` of a plan; --sni of tare http."""
    alpn: Value
    """`tls.alpn` of a plan; --alpn of tare http."""
    resolve: Value
    """`resolve.fixed` of a plan; --resolve of tare http."""
    family: Value
    """`resolve.family` of a plan; --ipv4/--ipv6 of tare http."""
    resolve_every: Value
    """`resolve.every` of a plan; --resolve-every of tare http."""
    threads: Value
    """`engine.threads` of a plan; --threads of tare http."""
    cpus: Value
    """`engine.cpus` of a plan; --cpus of tare http."""
    spin: Value
    """`engine.spin` of a plan; --spin of tare http."""
    priority: Value
    """`engine.priority` of a plan; --priority of tare http."""
    io: Value
    """`engine.io` of a plan; --io of tare http."""
    fail_if: Value
    """`limits.fail_if` of a plan; --fail-if of tare http."""
    abort_if: Value
    """`limits.abort_if` of a plan; --abort-if of tare http."""


class SendFields(TypedDict, total=False):
    seed: Value
    """`frames.seed` of a plan; --seed of tare send."""
    pcap: Value
    """`frames.pcap` of a plan; --pcap of tare send."""
    src_mac: Value
    """`frames.src_mac` of a plan; --src-mac of tare send."""
    dst_mac: Value
    """`frames.dst_mac` of a plan; --dst-mac of tare send."""
    vlan: Value
    """`frames.vlan` of a plan; --vlan of tare send."""
    pcp: Value
    """`frames.pcp` of a plan; --pcp of tare send."""
    mpls: Value
    """`frames.mpls` of a plan; --mpls of tare send."""
    pppoe: Value
    """`frames.pppoe` of a plan; --pppoe of tare send."""
    tunnel: Value
    """`frames.tunnel` of a plan; --tunnel of tare send."""
    tunnel_src: Value
    """`frames.tunnel_src` of a plan; --tunnel-src of tare send."""
    tunnel_dst: Value
    """`frames.tunnel_dst` of a plan; --tunnel-dst of tare send."""
    ipv6_ext: Value
    """`frames.ipv6_ext` of a plan; --ipv6-ext of tare send."""
    bad_checksum: Value
    """`frames.bad_checksum` of a plan; --bad-checksum of tare send."""
    proto: Value
    """`frames.proto` of a plan; --proto of tare send."""
    ethertype: Value
    """`frames.ethertype` of a plan; --ethertype of tare send."""
    src: Value
    """`frames.src` of a plan; --src of tare send."""
    dst: Value
    """`frames.dst` of a plan; --dst of tare send."""
    sport: Value
    """`frames.sport` of a plan; --sport of tare send."""
    dport: Value
    """`frames.dport` of a plan; --dport of tare send."""
    ttl: Value
    """`frames.ttl` of a plan; --ttl of tare send."""
    dscp: Value
    """`frames.dscp` of a plan; --dscp of tare send."""
    ecn: Value
    """`frames.ecn` of a plan; --ecn of tare send."""
    flow_label: Value
    """`frames.flow_label` of a plan; --flow-label of tare send."""
    tcp_flags: Value
    """`frames.tcp_flags` of a plan; --tcp-flags of tare send."""
    tcp_options: Value
    """`frames.tcp_options` of a plan; --tcp-options of tare send."""
    size: Value
    """`frames.size` of a plan; --size of tare send."""
    payload: Value
    """`frames.payload` of a plan; --payload of tare send."""
    flows: Value
    """`frames.flows` of a plan; --flows of tare send."""
    vary: Value
    """`frames.vary` of a plan; --vary of tare send."""
    sign: Value
    """`frames.sign` of a plan; --sign of tare send."""
    fail_if: Value
    """`limits.fail_if` of a plan; --fail-if of tare send."""
    abort_if: Value
    """`limits.abort_if` of a plan; --abort-if of tare send."""
    receive: Value
    """`send.receive` of a plan; --receive of tare send."""
    rate: Value
    """`send.rate` of a plan; --rate of tare send."""
    gap: Value
    """`send.gap` of a plan; --gap (-d) of tare send."""
    gaps: Value
    """`send.gaps` of a plan; --gaps (-D) of tare send."""
    replay: Value
    """`send.replay` of a plan; --replay of tare send."""
    speed: Value
    """`send.speed` of a plan; --speed of tare send."""
    loops: Value
    """`send.loops` of a plan; --loop of tare send."""
    read_ahead: Value
    """`send.read_ahead` of a plan; --read-ahead of tare send."""
    servers: Value
    """`send.servers` of a plan; --servers of tare send."""
    split: Value
    """`send.split` of a plan; --split of tare send."""
    client_vary: Value
    """`send.client_vary` of a plan; --client-vary of tare send."""
    server_vary: Value
    """`send.server_vary` of a plan; --server-vary of tare send."""
    poisson: Value
    """`send.poisson` of a plan; --poisson of tare send."""
    ramp: Value
    """`send.ramp` of a plan; --ramp of tare send."""
    step: Value
    """`send.step` of a plan; --step of tare send."""
    stages: Value
    """`send.stages` of a plan; --stages of tare send."""
    sine: Value
    """`send.sine` of a plan; --sine of tare send."""
    burst: Value
    """`send.burst` of a plan; --burst of tare send."""
    relative: Value
    """`send.relative` of a plan; --relative of tare send."""
    length: Value
    """`send.length` of a plan; --length (-l) of tare send."""
    lengths: Value
    """`send.lengths` of a plan; --lengths (-L) of tare send."""
    frames: Value
    """`send.frames` of a plan; --frames (-n) of tare send."""
    duration: Value
    """`send.duration` of a plan; --duration (-t) of tare send."""
    queues: Value
    """`send.queues` of a plan; --queues of tare send."""
    cpus: Value
    """`send.cpus` of a plan; --cpus of tare send."""
    spin: Value
    """`send.spin` of a plan; --spin of tare send."""
    priority: Value
    """`send.priority` of a plan; --priority of tare send."""
    drain: Value
    """`send.drain` of a plan; --drain of tare send."""
    answer_arp: Value
    """`send.answer_arp` of a plan; --answer-arp of tare send."""
    line: Value
    """`send.line` of a plan; --line of tare send."""
    script: Value
    """`send.script` of a plan; --script of tare send."""
