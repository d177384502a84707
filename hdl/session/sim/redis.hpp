// The module's other wire, which goes to Redis (session_redis.sv): its end, what the host writes, and what is
// counted. Without --redis_tap, --redis_fd or --redis_passed this part has no clock.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "descriptors.hpp"
#include "ethernet.hpp"
#include "options.hpp"
#include "responder.hpp"

// A descriptor that comes over a socket, with two bytes: how many follow, and how many commands these are, with
// which a connection begins.
inline int passed_descriptor(int socket, std::string& greeting, unsigned& commands) {
    uint8_t sizes[2] = {};
    iovec part{sizes, sizeof sizes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n;
    do n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const cmsghdr* head = n == sizeof sizes ? CMSG_FIRSTHDR(&message) : nullptr;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        throw std::runtime_error("--redis_passed: no descriptor came over --host_fd");
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    greeting.resize(sizes[0]);
    commands = sizes[1];
    if (sizes[0] && recv(socket, greeting.data(), greeting.size(), MSG_WAITALL) != sizes[0])
        throw std::runtime_error("--redis_passed: the greeting is not whole");
    return fd;
}

template <typename Top>
class RedisEnd {
  public:
    RedisEnd(const Options& o, Top& top) : o_(o), top_(top) {
        if (o.has("redis_tap")) {
            tap_ = std::make_unique<Tap>(o.text("redis_tap", ""), peer());
            wire_.emplace(tap_->fd);
        } else if (o.has("redis_fd")) {
            wire_.emplace(static_cast<int>(o.number("redis_fd", 0)));
        } else if (o.number("redis_passed", 0)) {
            wire_.emplace(passed_descriptor(static_cast<int>(o.number("host_fd", 0)), greeting_, greetings_));
        }
        micro_ = std::max<uint64_t>(1, o.number("redis_micro", o.number("micro", 125)));
        drops_ = o.number("redis_drops", 0);
    }

    bool is_on() const { return wire_.has_value(); }

    void set() {
        if (!is_on()) return;
        make_head();
        Packed p;
        p.put(o_.number("redis_mac", 0x021800000102, 16), 48);
        p.put(address_of(o_.text("redis_address", "198.18.1.2")), 32);
        p.put(o_.number("redis_from", 20'000), 16);
        p.put(o_.number("redis_peer_mac", 0, 16), 48);
        p.put(address_of(peer()), 32);
        p.put(o_.number("redis_port", 6379), 16).put(head_.size(), 8).put(number_at_, 8);
        p.put(greeting_.size(), 8).put(greetings_, 2);
        p.put(o_.number("redis_pause", 100), 16).put(o_.number("redis_patience", 4000), 16);
        p.put(o_.number("redis_flush", 10), 16).put(micro_, 8);
        p.put(o_.number("secret", 0x5eed1234), 32);
        p.into(top_.redis_i);
    }

    template <typename Tick>
    void write_head(Tick tick) {
        const auto write = [&](size_t place, const std::string& bytes) {
            for (char byte : bytes) {
                top_.head_write_i = 1;
                top_.head_place_i = static_cast<uint16_t>(place++);
                top_.head_byte_i = static_cast<uint8_t>(byte);
                tick();
            }
        };
        write(512 - head_.size(), head_);
        write(0, greeting_);
        top_.head_write_i = 0;
    }

    void look() {
        if (!is_on()) return;
        if (wire_->ended()) throw std::runtime_error("the device at the end of Redis's wire is gone");
        while (waiting_.size() < 64) {
            auto frame = wire_->receive();
            if (!frame) break;
            if (frame->size() <= 1514 && !lost()) waiting_.push_back(std::move(*frame));
        }
    }

    // Before a cycle, and behind it.
    void before() {
        if (!is_on()) return;
        if (at_ == in_.size() && gap_ == 0 && !waiting_.empty()) {
            in_ = on_the_wire(waiting_.front());
            at_ = 0;
            waiting_.pop_front();
        }
        top_.redis_rx_dv_i = at_ < in_.size();
        if (at_ < in_.size()) {
            top_.redis_rxd_i = in_[at_++];
            if (at_ == in_.size()) gap_ = kGapBytes;
        } else if (gap_) {
            gap_--;
        }
    }
    void behind() {
        if (!is_on()) return;
        if (top_.redis_tx_er_o) wrong_++;
        if (top_.redis_tx_en_o) {
            out_.push_back(top_.redis_txd_o);
        } else if (!out_.empty()) {
            left(frame_of(out_));
            out_.clear();
        }
        if (top_.result_valid_o && !top_.redis_alone_i) events_++;
        for (uint32_t set = top_.redis_counted_o; set; set &= set - 1) counted_[__builtin_ctz(set)]++;
        if (top_.redis_counted_o >> Stored & 1) stored_ += top_.redis_events_o;
        if (top_.redis_counted_o >> Refused & 1) refused_ += top_.redis_events_o;
    }

    // Behind the load, which does nothing any more: until all events have a reply, for so many cycles at most. By
    // TCP's clock, these last no less than on this host's, on which Redis is.
    template <typename Tick>
    void wait(uint64_t most, Tick tick) {
        using Clock = std::chrono::steady_clock;
        constexpr unsigned Look = 64;
        const auto start = Clock::now();
        top_.redis_alone_i = 1;
        for (uint64_t cycles = 0; missing() && cycles < most; cycles += Look) {
            look();
            for (unsigned i = 0; i < Look; i++) tick();
            if (Clock::now() - start < std::chrono::microseconds(cycles / micro_)) usleep(Look / micro_ + 1);
        }
    }

    // Events without a reply.
    uint64_t missing() const { return is_on() ? events_ - stored_ - refused_ - counted_[Dropped] : 0; }

    std::string json() const {
        const auto field = [](const char* name, uint64_t count) {
            return std::string("\"") + name + "\": " + std::to_string(count);
        };
        std::string text = "{" + field("events", events_) + ", " + field("events_stored", stored_);
        text += ", " + field("events_refused", refused_) + ", " + field("events_unconfirmed", missing());
        text += ", " + field("frames_wrong", wrong_);
        for (size_t i = 0; i < Counts; i++) text += ", " + field(Names[i], counted_[i]);
        return text + "}";
    }
    // The same, for the host.
    std::string words() const {
        const auto word = [](const char* name, uint64_t count) {
            return std::string(" redis_") + name + " " + std::to_string(count);
        };
        return word("events", events_) + word("stored", stored_) + word("refused", refused_) +
               word("dropped", counted_[Dropped]) + word("unconfirmed", missing()) + word("ended", counted_[Ended]) +
               word("opened", counted_[Opened]) + word("late", counted_[Late]) + word("busy", counted_[Busy]) +
               word("wrong", counted_[Wrong]) + word("denied", counted_[Denied]) + word("found", counted_[Found]) + word("frames_wrong", wrong_);
    }

  private:
    static constexpr size_t Counts = 12;
    static constexpr const char* Names[Counts] = {"resent",  "wrong",  "busy",    "late",   "ended", "opened",
                                                  "refused", "stored", "dropped", "denied", "found", "asked"};
    enum { Wrong = 1, Busy = 2, Late = 3, Ended = 4, Opened = 5, Refused = 6, Stored = 7, Dropped = 8, Denied = 9, Found = 10 };

    std::string peer() const { return o_.text("redis_tap_address", "198.18.1.1"); }

    void make_head() {
        const std::string key = o_.text("redis_key", "tare:sim:module");
        const auto word = [](const std::string& text) {
            return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
        };
        head_ = "*5\r\n" + word("XADD") + word(key) + "$10\r\n";
        number_at_ = head_.size();
        head_ += "00000000-0\r\n" + word("events") + "$1280\r\n";
        if (head_.size() > 178) throw std::runtime_error("--redis_key " + key + " is too long");
    }

    void left(const Bytes& frame) {
        bool wrong = frame.empty();
        if (!wrong) Segment::read(frame, wrong);
        if (wrong) wrong_++;
        if (!frame.empty() && !lost()) wire_->send_frame(frame);
    }

    bool lost() { return drops_ && ++frames_ % drops_ == 0; }

    const Options& o_;
    Top& top_;
    std::unique_ptr<Tap> tap_;
    std::optional<WireEnd> wire_;
    std::string head_, greeting_;
    unsigned greetings_ = 0;
    size_t number_at_ = 0;
    uint64_t micro_ = 125, drops_ = 0, frames_ = 0;
    uint64_t events_ = 0, stored_ = 0, refused_ = 0, wrong_ = 0, counted_[Counts] = {};
    std::deque<Bytes> waiting_;
    Bytes in_, out_;
    size_t at_ = 0;
    unsigned gap_ = 0;
};
