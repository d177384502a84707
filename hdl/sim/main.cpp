// Runs the module in a process. Descriptors take the place of a board's pins: the host's link is a socket, and the wire is a socket, an interface, a TAP
// device, or a cable from the transmitter to the receiver.
//
//   host ◄── SOCK_SEQPACKET ──► module ◄── GMII, 8 ns a byte ──► TAP, packet socket, socket, cable
//
// Time is simulated: a cycle is 8 ns, however long it takes. It stops, and the process sleeps, while nothing is queued or moves in the module and no packet
// waits. It also stops for a while if the host takes no packets, as that process may be waiting for a CPU.
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
// Cycles between polls of the descriptors. Polling costs nothing then, and a packet waits at most a microsecond of simulated time.
constexpr unsigned kLookCycles = 128;
// Time stops after this many quiet cycles.
constexpr unsigned kQuietCycles = 2048;
// Frames that may wait for the wire, or for the host. Others stay at their source.
constexpr size_t kMostWaiting = 64;
// If the host takes no packets, time stops when this many wait, until it takes some; once, and at most for this long.
constexpr size_t kManyWaiting = kMostWaiting / 2;
constexpr int kPatienceMs = 200;
// Packets of the host are accepted at no more than twice the wire's rate, which suffices for live frames of any length at line rate, with headers. The link
// of a board has half of that.
constexpr unsigned kHostBytesPerCycle = 2;
// An interface is checked periodically: whether it is up again, or whether its peer went down, which is not reported. The period is a time while the process
// sleeps, and a number of polls while it works.
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

    // Nothing happens at the falling edge, but evaluating it is a tenth of the work. If the name of Verilator's copy of the last level is known, it is set here
    // instead.
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

    // Reads the outputs of this cycle, sets the inputs, and advances the clock.
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

    // Sends the next frame of the file once it is due.
    void play() {
        if (!incoming_.empty()) return;
        const Player::Item& item = player_->next();
        play_ns_ = played_ ? play_ns_ + item.after_ns : tick_ * kNsPerCycle;
        incoming_.push_back(item.frame);
        in_free_ = std::max({tick_, in_free_, play_ns_ / kNsPerCycle});
        // The fraction of a cycle is carried to the next gap. A frame that waited for the wire delays those after it.
        play_ns_ = std::max(play_ns_, in_free_ * kNsPerCycle);
        played_ = true;
    }

    void to_host() {
        // A packet that the host has not taken delays those after it.
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
            // The module expects frames with an FCS, as from a MAC, but does not check it.
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
        // Lets the module see what woke the process. If nothing did, it sleeps again.
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
    uint64_t in_free_ = 0;  // when the wire is free for the next frame
    std::deque<Bytes> incoming_;
    bool cable_dv_ = false;
    uint8_t cable_d_ = 0;
    bool played_ = false;
    uint64_t play_ns_ = 0;  // when the last frame of the player was due, or began if that was later

    Bytes packet_;
    std::deque<Bytes> packets_;
    bool patient_ = true;  // whether the host has taken a packet since the last wait
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
