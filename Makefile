# Every habit of this repository; `make help` lists them.

SHELL := /bin/sh
export PATH := $(HOME)/.cargo/bin:$(PATH):/usr/sbin:/sbin
TARGET := $(or $(CARGO_TARGET_DIR),target)
TARE := $(TARGET)/release/tare

# Where `make install` puts things.
PREFIX ?= /usr/local
DIST := $(TARGET)/dist/tare
# Where `make libtare` puts things: into PREFIX if that was given.
LIBTARE = $(if $(filter file,$(origin PREFIX)),$(abspath $(TARGET))/libtare,$(PREFIX))
PROFILE ?= release
# How large it may be, MiB: without features, and with all of them.
MOST_BARE := 8
MOST_WHOLE := 20

# PROGRAM=PACKAGE: what the Debian package is needed for. aws-lc (the cryptography under TLS) is compiled by cc.
NEEDS_BUILD := cc=gcc /usr/include/stdlib.h=libc6-dev
NEEDS_TEST := nginx=nginx-light curl=curl openssl=openssl ip=iproute2 ethtool=ethtool ping=iputils-ping setpriv=util-linux \
	redis-server=redis-server redis-cli=redis-tools mount=mount python3=python3 /usr/lib/python3*/ensurepip=python3-venv /usr/lib/*/faketime/libfaketime.so.1=libfaketime chromium=chromium prometheus=prometheus influxd=influxdb \
	tmux=tmux pgrep=procps sysctl=procps iperf3=iperf3 tshark=tshark tcpdump=tcpdump capinfos=wireshark-common dumpcap=wireshark-common \
	verilator=verilator flock=util-linux dpkg-shlibdeps=dpkg-dev pkg-config=pkg-config valgrind=valgrind
# 0.7 MB of Debian 12; other releases have other versions, and the tests of dpdk: say SKIPPED there.
NEEDS_DPDK := /usr/lib/*/librte_ethdev.so.23=librte-ethdev23 /usr/lib/*/librte_mempool_ring.so.23=librte-mempool-ring23 \
	/usr/lib/*/librte_net_null.so.23=librte-net-null23 /usr/lib/*/librte_net_ring.so.23=librte-net-ring23 \
	/usr/lib/*/librte_net_pcap.so.23=librte-net-pcap23 /usr/lib/*/librte_net_af_packet.so.23=librte-net-af-packet23 \
	/usr/lib/*/librte_net_af_xdp.so.23=librte-net-af-xdp23
NEEDS_DEB := dpkg-shlibdeps=dpkg-dev lintian=lintian python3=python3
NEEDS_PACKET_PEERS := ip=iproute2 ethtool=ethtool taskset=util-linux sysctl=procps trafgen=netsniff-ng tcpreplay=tcpreplay \
	dpdk-testpmd=dpdk-dev iperf3=iperf3 tcpdump=tcpdump dumpcap=wireshark-common xdp-filter=xdp-tools nft=nftables

FUZZ_TARGETS := http_response target_url request_line plan_toml limits result_json hlog run_folder frame frames_toml captures rules \
	redirects connect_answer chunks pcapng_blocks module_reports tcp_step
FUZZ_SECONDS := 20
SOAK_SECONDS := 3600

.DEFAULT_GOAL := help
.PHONY: help demo test run build lint lint-hdl bench bench-http bench-report bench-samples bench-live bench-packet bench-dpdk bench-sizes bench-predict bench-trust bench-sessions bench-bindings bench-fpga experiments fuzz soak mutants gallery formal sim timing-diagram synth module-sim module-test gates module-speed bitstream stamps man completions install small deb deb-test libtare header wheel java clean need-build need-test

help: ## list what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: need-build ## a load on a target with a known one-second stall, and what the report says of it
	cargo build --release --bin tare
	@$(TARE) demo

test: need-build ## install what the tests need, run them all, print the totals
	@scripts/test.sh

run: need-build ## the tare command: make run ARGS='http http://127.0.0.1:8080/'
	cargo build --release --bin tare
	@$(TARE) $(ARGS)

build: need-build ## everything that can be compiled
	cargo build --release --workspace

lint: need-build lint-hdl ## formatting, lints, that fuzz targets compile, rules of this house (tidy.rs), and what dependencies must keep to: licences, advisories, duplicates, one set of features
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo clippy --release -p tare --no-default-features -- -D warnings
	cargo check --quiet --manifest-path fuzz/Cargo.toml --bins
	cargo test --release -q -p tare-system-tests --test report tidy::
	@scripts/features.py
	@scripts/deny.sh

lint-hdl: ## lints of the hardware modules alone
	@scripts/hdl_tools.sh
	@scripts/hdl_lint.sh

bench: bench-http bench-report bench-samples bench-live bench-packet bench-predict bench-trust bench-sessions ## all benchmarks

bench-http: need-build ## tare http beside wrk, h2load, oha, httperf: a table, and target/bench-http.json
	cargo build --release --bins
	$(TARGET)/release/bench-http --json $(TARGET)/bench-http.json $(BENCH_ARGS)

bench-samples: need-build ## a run with and without --samples in turns, four minutes
	cargo build --release --bins
	$(TARGET)/release/bench-samples

bench-live: need-build ## a run that is watched and one that is not, in turns
	cargo build --release --bins
	$(TARGET)/release/bench-live

bench-packet: need-build ## frames beside trafgen, tcpreplay, testpmd, tcpdump, xdp-filter, nftables, iperf3: half an hour
	@scripts/need.sh $(NEEDS_PACKET_PEERS)
	cargo build --release --bins
	$(TARGET)/release/bench-packet --json $(TARGET)/bench-packet.json $(BENCH_ARGS)

bench-dpdk: need-build ## dpdk: beside testpmd on virtual devices: send, receive, forward: ten minutes, root
	@scripts/need.sh $(NEEDS_PACKET_PEERS) $(NEEDS_DPDK)
	cargo build --release --bins
	$(TARGET)/release/bench-packet --only dpdk-send --only dpdk-receive --only dpdk-forward --json $(TARGET)/bench-dpdk.json $(BENCH_ARGS)

bench-sizes: need-build ## packets/s of six frame sizes by every port, and by threads and queues, beside peers: table, chart; an hour, root
	@scripts/need.sh $(NEEDS_PACKET_PEERS) $(NEEDS_DPDK)
	cargo build --release --bins
	$(TARGET)/release/bench-packet --all-sizes --rounds 3 --seconds 1 --only send --only receive --only disk --only firewall --only dpdk-send \
		--only dpdk-receive --only dpdk-forward --only threads --json $(TARGET)/bench-sizes.json --chart $(TARGET)/bench-sizes.svg $(BENCH_ARGS)

bench-predict: need-build ## weighs this machine, then sets forecasts beside what really happens: a quarter of an hour, root
	@scripts/need.sh ip=iproute2 setpriv=util-linux
	cargo build --release --bins
	$(TARGET)/release/bench-predict $(BENCH_ARGS)

bench-sessions: need-build ## tare http --via beside wrk and the kernel's sockets, nginx over veth: five minutes, root
	@scripts/need.sh ip=iproute2 nginx=nginx-light wrk=wrk perf=linux-perf h2load=nghttp2-client taskset=util-linux
	cargo build --release --bins
	$(TARGET)/release/bench-sessions $(BENCH_ARGS)

bench-bindings: java ## middleboxes in Java beside the same in C, step by step, with flight recordings: five minutes
	@scripts/need.sh taskset=util-linux
	cargo build --release --bin bench-bindings
	@bindings/java/bench.sh $$(scripts/java.sh) $(TARGET)/java
	$(TARGET)/release/bench-bindings --java $$(scripts/java.sh) --json $(TARGET)/bench-bindings.json --chart $(TARGET)/bench-bindings.svg $(BENCH_ARGS)

bench-trust: need-build ## 100 clean runs and more that something tries to spoil, beside the truth: twenty minutes, root; BENCH_ARGS='--quick'
	@scripts/need.sh ip=iproute2 setpriv=util-linux tcpdump=tcpdump
	cargo build --release --bins
	$(TARGET)/release/bench-trust $(BENCH_ARGS)

bench-fpga: need-build module-sim ## Caliper's experiment on the simulated module, 1 500 000 frames at each rate: hours; BENCH_ARGS='--frames 10k' for less
	cargo build --release --bin tare
	$(TARE) fpga bench fpga:sim $(or $(BENCH_ARGS),--frames 1500k)

bench-report: need-build ## time and memory to read and draw a run of an hour
	cargo build --release --bins
	$(TARGET)/release/bench-report

experiments: need-build module-sim ## what http_load tells (BENCH_ARGS='--peer http_load'), an nginx under three loads, one of JMeter, and Caliper's gaps: hours; CALIPER_ARGS='--frames 1000' for less
	@scripts/need.sh nginx=nginx-light ip=iproute2 taskset=util-linux tcpreplay iperf3
	cargo build --release --bin tare --bin experiments --bin nginx-over-time --bin bench-packet
	$(TARGET)/release/experiments --json $(TARGET)/experiments.json --chart $(TARGET)/experiments.svg $(BENCH_ARGS)
	home=$$(scripts/jmeter.sh) && \
	    $(TARGET)/release/nginx-over-time --jmeter "$$home" --json $(TARGET)/nginx.json --chart $(TARGET)/nginx.svg
	$(TARGET)/release/bench-packet --only caliper --only caliper-module --json $(TARGET)/caliper.json --chart $(TARGET)/caliper.svg $(CALIPER_ARGS)

fuzz: need-build ## look for bytes that break a parser, FUZZ_SECONDS (20) for each: FUZZ_TARGETS='chunks frame' for some
	@scripts/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_TARGETS)

soak: need-build ## SOAK_SECONDS (an hour) with everything on; nothing may grow, drift or be lost: SOAK_ARGS=--fake-clock
	cargo build --release --bin tare --bin soak
	$(TARGET)/release/soak --seconds $(SOAK_SECONDS) $(SOAK_ARGS)

mutants: need-build ## change one thing after another and see that a test notices: hours; MUTANTS='-p tare-units' for less
	@scripts/mutants.sh $(MUTANTS)

gallery: need-build ## reports of real runs and pictures of them, in docs/gallery
	@scripts/need.sh chromium=chromium taskset=util-linux
	cargo build --release --bin tare
	@scripts/gallery.sh $(TARE) docs/gallery

formal: ## proofs of the hardware modules, and that each can fail: FORMAL='release_gate marks' for some
	@scripts/hdl_tools.sh formal
	@hdl/.venv/bin/python hdl/formal/prove.py $(FORMAL)
	@[ -n '$(FORMAL)' ] || hdl/.venv/bin/python hdl/session/formal/prove_sessions.py

sim: ## simulation of the hardware modules: SIM='generator core' for some, SEED=7 for another seed
	@scripts/hdl_tools.sh
	@hdl/.venv/bin/python hdl/tb/run.py $(SIM)

timing-diagram: ## the picture of three departures in docs, from a simulation's signals
	@scripts/hdl_tools.sh
	@hdl/.venv/bin/python hdl/tb/timing.py docs/fpga-timing.svg

synth: ## size and clock of the hardware modules on Lattice ECP5: SYNTH_ARGS='--seeds 5 --write'
	@scripts/hdl_tools.sh
	@hdl/.venv/bin/python hdl/syn/synth.py $(SYNTH_ARGS)

bitstream: ## a bitstream: BOARD=colorlight-5a-75b-v8.0, colorlight-5a-75b-v7.0 or ecpix5-85f
	@scripts/hdl_tools.sh
	@hdl/.venv/bin/python hdl/syn/bitstream.py $(BOARD)

stamps: ## keep what the hardware's tests passed with in the repository, so that a fresh clone need not repeat them: after make test
	@mkdir -p hdl/stamps
	cp $(TARGET)/stamps/* hdl/stamps/

module-sim: ## the hardware module, and its session_step, as processes, simulated: target/module-sim
	@scripts/need.sh verilator=verilator g++=g++ make=make python3=python3
	@hdl/sim/build.sh $(TARGET)/module-sim
	@hdl/session/sim/build.sh $(TARGET)/module-sim

module-test: module-sim ## the whole module in its process, from the outside: MODULE='forgets the_wire_goes_down' for some
	@scripts/hdl_tools.sh
	@hdl/.venv/bin/python hdl/tb/module/test_module.py $(TARGET)/module-sim/tare-module-sim $(MODULE)

gates: ## the netlist of the module through the same tests: MODULE='forgets' for some
	@scripts/hdl_tools.sh
	@scripts/need.sh verilator=verilator g++=g++ make=make python3=python3
	@hdl/.venv/bin/python hdl/syn/gates.py $(TARGET)/gates
	@hdl/.venv/bin/python hdl/tb/module/test_module.py $(TARGET)/gates/tare-module-sim $(MODULE)

module-speed: module-sim ## cycles a second of the simulated module, on a machine that does nothing else
	@scripts/hdl_tools.sh
	@hdl/.venv/bin/python hdl/tb/module/speed.py $(TARGET)/module-sim/tare-module-sim

man: need-build ## man pages, in target/man
	cargo build --release --bin tare
	$(TARE) man --out $(TARGET)/man

completions: need-build ## shell completions, in target/completions
	cargo build --release --bin tare
	@mkdir -p $(TARGET)/completions
	@for shell in bash zsh fish elvish powershell; do \
		$(TARE) completions $$shell >$(TARGET)/completions/tare.$$shell || exit 1; \
	done
	@ls $(TARGET)/completions/tare.*

install: need-build ## install tare: PREFIX=/usr/local DESTDIR= SYSCONFDIR= UNITDIR= say where
	cargo build --profile dist -p tare
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' SYSCONFDIR='$(SYSCONFDIR)' UNITDIR='$(UNITDIR)' scripts/install.sh $(DIST)

small: need-build ## that the program is no larger than it may be, with all features and without any
	cargo build --profile dist -p tare --no-default-features
	@scripts/small.sh $(DIST) $(MOST_BARE)
	cargo build --profile dist -p tare
	@scripts/small.sh $(DIST) $(MOST_WHOLE)

deb: need-build ## a Debian package, in target/deb, checked by lintian
	@scripts/need.sh $(NEEDS_DEB)
	cargo build --profile dist -p tare
	@scripts/small.sh $(DIST) $(MOST_WHOLE)
	@scripts/deb.sh $(DIST) $(TARGET)/deb
	@lintian --allow-root --fail-on error,warning --tag-display-limit 0 $(TARGET)/deb/*.deb

deb-test: small deb ## install the Debian package in a clean root, run it, remove it: root
	@scripts/need.sh mmdebstrap=mmdebstrap ip=iproute2 unshare=util-linux
	@scripts/deb_test.sh $(TARGET)/deb/*.deb

libtare: need-build ## libtare for C, with header and pkg-config file, in target/libtare; PROFILE=dist makes it small, PREFIX= DESTDIR= install it
	cargo build --profile $(PROFILE) -p tare-c
	@DESTDIR='$(DESTDIR)' bindings/c/install.sh $(TARGET)/$(PROFILE)/libtare.so '$(LIBTARE)'

wheel: need-build ## the Python package, in target/wheels; PROFILE=dist makes it small
	@scripts/need.sh python3=python3
	@scripts/python.sh
	@rm -rf $(TARGET)/wheels
	.venv/bin/maturin build --quiet --profile $(PROFILE) --interpreter .venv/bin/python --manifest-path bindings/python/Cargo.toml --out $(TARGET)/wheels
	@for wheel in $(TARGET)/wheels/*.whl; do bindings/python/check_wheel.sh .venv/bin/python $$wheel && echo $$wheel || exit 1; done

java: need-build ## the Java package: tare.jar, libtare.so and its docs, in target/java; PROFILE=dist makes it small
	cargo build --profile $(PROFILE) -p tare-c
	@jdk=$$(scripts/java.sh) && bindings/java/build.sh $$jdk $(TARGET)/$(PROFILE)/libtare.so $(TARGET)/java docs
	@ls -d $(TARGET)/java/tare.jar $(TARGET)/java/libtare.so $(TARGET)/java/docs

header: need-build ## tare.h anew from the source of libtare
	@bindings/c/header.py

clean: ## remove all that was built
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts

need-build:
	@scripts/need.sh $(NEEDS_BUILD)

need-test:
	@scripts/need.sh $(NEEDS_TEST)
	@scripts/need.sh $(NEEDS_DPDK) || echo "no DPDK 22.11 here: tests of dpdk: will say SKIPPED"
	@scripts/python.sh
	@scripts/hdl_tools.sh
