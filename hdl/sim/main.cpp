// The module in a process of its own: what a board does with pins, this does with descriptors. The host's link is a socket; the wire is whatever can carry
// frames, or a cable from the transmitter to the receiver.
//
//   host ◄── SOCK_SEQPACKET ──► module ◄── GMII, 8 ns a byte ──► TAP, packet socket, socket, cable
//
// Time here is simulated: a cycle is 8 ns, whatever the clock on the wall says. It stands still when nothing is queued or moves in the module and no packet
// waits, and the process sleeps then; and for a while when the host does not take what it is told, as its process may be waiting for a CPU.
#include <algorithm>
#include <csignal>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "Vmodule_sim.h"
#include "Vmodule_sim___024root.h"
#include "descriptors.hpp"
#include "ethernet.hpp"
#include "pcap.hpp"
#include "verilated.h"

namespace {

constexpr unsigned kNsPerCycle = 8;
// How often descriptors are looked at, in cycles: rarely enough to cost nothing, often enough that a packet waits a microsecond of simulated time.
constexpr unsigned kLookCycles = 128;
// After so many quiet cycles time stands still.
constexpr unsigned kQuietCycles = 2048;
// Frames that wait for the wire, or to be told to the host; more stay where they come from.
constexpr size_t kMostWaiting = 64;
// A host that does not take packets is waited for when so many have come together, until it takes some: at most so long, once.
constexpr size_t kManyWaiting = kMostWaiting / 2;
constexpr int kPatienceMs = 200;
// Packets of the host come at most at twice the wire's rate: enough for live frames of any length at line rate, header and all. A board's link has half
// of that.
constexpr unsigned kHostBytesPerCycle = 2;
// An interface is looked after every so often: one that is down, and one whose other end may have gone down, of which nothing tells. Asleep, by time;
// at work, by looks at the descriptors.
constexpr int kLookAgainMs = 100;
constexpr unsigned kLooksAgain = 512;

volatile std::sig_atomic_t stopped = 0;

struct Options {
    int host_fd = -1;
    int wire_fd = -1;
    bool loop = false;
    bool free = false;
    unsigned seed = 0;
    std::string pcap, rx_pcap;
};

const char kUsage[] =
    "tare-module-sim --host-fd N [--wire-fd N | --loop] [--pcap FILE] [--rx-pcap FILE] [--seed N] [--idle-nap | --free]\n"
    "  --host-fd N     SOCK_SEQPACKET socket; a packet is a frame of the link (docs/fpga-reference.md) without FCS\n"
    "  --wire-fd N     where a read and a write is one Ethernet frame without FCS: TAP, packet socket, socket of packets\n"
    "  --loop          a cable from the transmitter to the receiver\n"
    "  --pcap FILE     all frames on the wire, both ways, with simulated times\n"
    "  --rx-pcap FILE  frames that come in over and over, as far apart as in FILE, or as close as a wire allows\n"
    "  --seed N        what registers and memories have before reset\n"
    "  --idle-nap      time stands still while nothing moves (the default); --free: it runs on\n";

[[noreturn]] void usage(const std::string& wrong) {
    std::fprintf(stderr, "%s\n%s", wrong.c_str(), kUsage);
    std::exit(2);
}

unsigned long number(const std::string& flag, const char* text) {
    char* end = nullptr;
    const unsigned long value = text ? std::strtoul(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end || value > 0x7fffffff) usage(flag + " needs a number, not " + (text ? text : "nothing"));
    return value;
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string flag = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : nullptr; };
        const auto text = [&] {
            const char* given = value();
            if (!given) usage(flag + " needs a file");
            return std::string(given);
        };
        if (flag == "--host-fd") options.host_fd = static_cast<int>(number(flag, value()));
        else if (flag == "--wire-fd") options.wire_fd = static_cast<int>(number(flag, value()));
        else if (flag == "--seed") options.seed = static_cast<unsigned>(number(flag, value()));
        else if (flag == "--pcap") options.pcap = text();
        else if (flag == "--rx-pcap") options.rx_pcap = text();
        else if (flag == "--loop") options.loop = true;
        else if (flag == "--free") options.free = true;
        else if (flag == "--idle-nap") options.free = false;
        else if (flag == "--help") std::fputs(kUsage, stdout), std::exit(0);
        else usage("there is no " + flag);
    }
    if (options.host_fd < 0) usage("--host-fd is missing");
    if (options.loop && (options.wire_fd >= 0 || !options.rx_pcap.empty())) usage("--loop is the whole wire: no --wire-fd, no --rx-pcap");
    return options;
}

class Simulation {
  public:
    explicit Simulation(const Options& options) : options_(options), host_(options.host_fd) {
        if (options.wire_fd >= 0) wire_.emplace(options.wire_fd);
        if (!options.pcap.empty()) capture_.emplace(options.pcap);
        if (!options.rx_pcap.empty()) player_.emplace(options.rx_pcap);
        context_.randReset(options.seed ? 2 : 0);
        context_.randSeed(static_cast<int>(options.seed));
        dut_ = std::make_unique<Vmodule_sim>(&context_);
        reset();
    }

    void run() {
        const auto began = std::chrono::steady_clock::now();
        while (!stopped && !gone_) {
            look();
            wait_for_host();
            for (unsigned n = 0; n < kLookCycles; n++) cycle();
            if (nothing_moves()) nap();
        }
        dut_->final();
        if (capture_) capture_->finish();
        const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        std::fprintf(stderr, "{\"cycles\": %llu, \"wall_s\": %.6f, \"awake_s\": %.6f, \"frames_out\": %llu, \"frames_in\": %llu, \"frames_lost\": %llu, \"frames_too_long\": %llu}\n",
                     static_cast<unsigned long long>(tick_), wall, wall - asleep_s_, static_cast<unsigned long long>(frames_out_),
                     static_cast<unsigned long long>(frames_in_), static_cast<unsigned long long>(frames_lost_), static_cast<unsigned long long>(frames_too_long_));
    }

  private:
    void reset() {
        dut_->rst_ni = 0;
        dut_->wire_up_i = wire_is_up();
        for (int n = 0; n < 4; n++) clock();
        dut_->rst_ni = 1;
    }

    // The falling edge does nothing, but is a tenth of the work. Where Verilator's own note of the clock's last level is known by name, it is set by hand.
    void clock() {
        dut_->clk_i = 1;
#ifdef TARE_CLOCK_BEFORE
        dut_->rootp->TARE_CLOCK_BEFORE = 0;
        dut_->eval();
#else
        dut_->eval();
        dut_->clk_i = 0;
        dut_->eval();
#endif
    }

    bool wire_is_up() const { return options_.loop || player_ || (wire_ && wire_->up()); }

    // What the pins show in this cycle, what is put on them, and the clock's edge.
    void cycle() {
        transmitted();
        if (options_.loop) looped();
        else received();
        to_host();
        from_host();
        quiet_ = dut_->quiet_o ? quiet_ + 1 : 0;
        clock();
        tick_++;
    }

    uint64_t now_ns() const { return tick_ * kNsPerCycle; }

    void transmitted() {
        if (dut_->tx_en_o) {
            if (out_.empty() && capture_) capture_->begins(Capture::Out, now_ns());
            out_.push_back(dut_->txd_o);
            out_wrong_ |= dut_->tx_er_o;
        } else if (!out_.empty()) {
            const Bytes frame = out_wrong_ ? Bytes() : frame_of(out_);
            out_.clear();
            out_wrong_ = false;
            if (frame.empty()) {
                if (capture_) capture_->forget(Capture::Out);
                frames_lost_++;
                return;
            }
            frames_out_++;
            if (capture_) capture_->ends(Capture::Out, frame);
            if (wire_ && !wire_->send_frame(frame)) frames_lost_++;
        }
    }

    // The cable is one cycle long.
    void looped() {
        if (cable_dv_ && !dut_->rx_dv_i && capture_) capture_->begins(Capture::In, now_ns());
        if (cable_dv_) in_.push_back(cable_d_);
        else if (!in_.empty()) {
            const Bytes frame = frame_of(in_);
            if (capture_) frame.empty() ? capture_->forget(Capture::In) : capture_->ends(Capture::In, frame);
            frames_in_++;
            in_.clear();
        }
        dut_->rx_dv_i = cable_dv_;
        dut_->rxd_i = cable_d_;
        cable_dv_ = dut_->tx_en_o;
        cable_d_ = dut_->txd_o;
    }

    void received() {
        if (in_.empty()) {
            if (dut_->rx_dv_i) {
                dut_->rx_dv_i = 0;
                dut_->rxd_i = 0;
            }
            if (player_) play();
            if (tick_ < in_free_ || incoming_.empty()) return;
            in_ = on_the_wire(incoming_.front());
            in_at_ = 0;
            if (capture_) capture_->begins(Capture::In, now_ns());
        }
        dut_->rx_dv_i = 1;
        dut_->rxd_i = in_[in_at_++];
        if (in_at_ == in_.size()) {
            Bytes frame = frame_of(in_);
            if (capture_) capture_->ends(Capture::In, frame);
            frames_in_++;
            incoming_.pop_front();
            in_.clear();
            in_free_ = tick_ + 1 + kGapBytes;
        }
    }

    // The next frame of the file, when its time has come.
    void play() {
        if (!incoming_.empty()) return;
        const Player::Item& item = player_->next();
        play_ns_ = played_ ? play_ns_ + item.after_ns : tick_ * kNsPerCycle;
        incoming_.push_back(item.frame);
        in_free_ = std::max({tick_, in_free_, play_ns_ / kNsPerCycle});
        // What is left of a cycle counts for the next gap, so that none is lost; a frame that waited for the wire moves those behind it.
        play_ns_ = std::max(play_ns_, in_free_ * kNsPerCycle);
        played_ = true;
    }

    void to_host() {
        // A packet that the host has not taken holds up those behind it.
        dut_->host_ready_i = packets_.size() < kMostWaiting;
        if (!dut_->host_valid_o || !dut_->host_ready_i) return;
        const uint64_t data = dut_->host_data_o;
        const unsigned bytes = dut_->host_last_o ? dut_->host_final_o + 1u : 8u;
        for (unsigned i = 0; i < bytes; i++) packet_.push_back(static_cast<uint8_t>(data >> 8 * i));
        if (!dut_->host_last_o) return;
        packets_.push_back(std::move(packet_));
        packet_.clear();
        tell();
    }

    void tell() {
        while (!packets_.empty() && !gone_ && host_.send_packet(packets_.front(), gone_)) {
            packets_.pop_front();
            patient_ = true;
        }
    }

    void wait_for_host() {
        if (!patient_ || packets_.size() < kManyWaiting) return;
        pollfd fd{host_.fd(), POLLOUT, 0};
        const auto began = std::chrono::steady_clock::now();
        poll(&fd, 1, kPatienceMs);
        asleep_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        patient_ = false;
        tell();
    }

    void from_host() {
        dut_->host_valid_i = 0;
        if (requests_.empty() || !dut_->host_ready_o || (request_at_ == 0 && tick_ < next_request_)) return;
        const Bytes& request = requests_.front();
        if (request_at_ == 0) next_request_ = tick_ + (request.size() + kPreambleBytes + kGapBytes) / kHostBytesPerCycle;
        uint64_t data = 0;
        const size_t bytes = std::min<size_t>(8, request.size() - request_at_);
        for (size_t i = 0; i < bytes; i++) data |= static_cast<uint64_t>(request[request_at_ + i]) << 8 * i;
        dut_->host_valid_i = 1;
        dut_->host_data_i = data;
        dut_->host_final_i = static_cast<uint8_t>(bytes - 1);
        request_at_ += bytes;
        dut_->host_last_i = request_at_ == request.size();
        if (dut_->host_last_i) {
            requests_.pop_front();
            request_at_ = 0;
        }
    }

    // The descriptors.
    void look() {
        tell();
        while (requests_.size() < kMostWaiting && !gone_) {
            std::optional<Bytes> packet = host_.receive(gone_);
            if (!packet) break;
            // The module takes what a MAC gives it: with FCS, which it does not look at.
            packet->resize(packet->size() + kFcsBytes);
            requests_.push_back(std::move(*packet));
        }
        if (!wire_) return;
        while (incoming_.size() < kMostWaiting) {
            std::optional<Bytes> frame = wire_->receive();
            if (!frame) break;
            if (frame->size() <= kMaxFrame) incoming_.push_back(std::move(*frame));
            else frames_too_long_++;
        }
        if (!wire_->up() || ++looks_ % kLooksAgain == 0) wire_->look();
        dut_->wire_up_i = wire_is_up();
    }

    bool nothing_moves() const {
        return !options_.free && quiet_ >= kQuietCycles && out_.empty() && in_.empty() && incoming_.empty() && requests_.empty() && packets_.empty() && !player_;
    }

    void nap() {
        if (capture_) capture_->flush();
        pollfd fds[2] = {{host_.fd(), POLLIN, 0}, {-1, POLLIN, 0}};
        if (wire_ && !wire_->ended() && wire_->up()) fds[1].fd = wire_->fd();
        const auto began = std::chrono::steady_clock::now();
        const bool was_up = wire_is_up(), tells = !wire_ || wire_->ended() || (wire_->up() && !wire_->may_go_down());
        int ready;
        do {
            ready = poll(fds, 2, tells ? -1 : kLookAgainMs);
            if (wire_) wire_->look();
        } while (ready == 0 && was_up && wire_is_up());
        asleep_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        // What woke the process is seen by the module; if it was nothing, it sleeps again.
        quiet_ = kQuietCycles - kLookCycles;
    }

    Options options_;
    VerilatedContext context_;
    std::unique_ptr<Vmodule_sim> dut_;
    Host host_;
    std::optional<WireEnd> wire_;
    std::optional<Capture> capture_;
    std::optional<Player> player_;
    bool gone_ = false;
    uint64_t tick_ = 0;
    unsigned quiet_ = 0, looks_ = 0;
    double asleep_s_ = 0;
    uint64_t frames_out_ = 0, frames_in_ = 0, frames_lost_ = 0, frames_too_long_ = 0;

    Bytes out_;  // what is on the wire, from the preamble on
    bool out_wrong_ = false;
    Bytes in_;
    size_t in_at_ = 0;
    uint64_t in_free_ = 0;  // from when on the wire is free for the next frame
    std::deque<Bytes> incoming_;
    bool cable_dv_ = false;
    uint8_t cable_d_ = 0;
    bool played_ = false;
    uint64_t play_ns_ = 0;  // when the last frame of the player was due, or began if that was later

    Bytes packet_;
    std::deque<Bytes> packets_;
    bool patient_ = true;  // whether the host has taken one since it was last waited for
    std::deque<Bytes> requests_;
    size_t request_at_ = 0;
    uint64_t next_request_ = 0;
};

void stop(int) { stopped = 1; }

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    struct sigaction action {};
    action.sa_handler = stop;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    try {
        Simulation(options).run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
