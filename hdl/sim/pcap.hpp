// Captures of the wire, both ways, with simulated times (https://www.ietf.org/archive/id/draft-tuexen-opsawg-pcapng-05.html), and frames from a
// capture for the receiving side.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "ethernet.hpp"

// Frames are written in the order in which they began. So one that ended waits here while a frame of the other direction that began earlier has not
// ended.
class Capture {
  public:
    enum Direction { Out = 0, In = 1 };

    explicit Capture(const std::string& path) : file_(path, std::ios::binary | std::ios::trunc), path_(path) {
        if (!file_) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
        std::string body = word(0x1a2b3c4d) + half(1) + half(0) + word(~0u) + word(~0u);
        block(0x0a0d0d0a, body);
        for (const char* name : {"out", "in"}) {
            // Link type 1 is Ethernet; option 2 is the name, option 9 the resolution of times: 10^-9 s.
            body = half(1) + half(0) + word(0) + option(2, name) + option(9, std::string(1, 9)) + half(0) + half(0);
            block(1, body);
        }
    }

    void begins(Direction direction, uint64_t time_ns) { begun_[direction] = time_ns; }

    void ends(Direction direction, const Bytes& frame) {
        const uint64_t time_ns = begun_[direction];
        begun_[direction] = kNothing;
        waiting_.emplace(time_ns, Record{direction, frame});
        while (!waiting_.empty() && waiting_.begin()->first <= std::min(begun_[Out], begun_[In])) {
            write(waiting_.begin()->first, waiting_.begin()->second);
            waiting_.erase(waiting_.begin());
        }
    }

    // A frame that was cut off.
    void forget(Direction direction) { begun_[direction] = kNothing; }

    void finish() {
        for (const auto& [time_ns, record] : waiting_) write(time_ns, record);
        waiting_.clear();
        file_.flush();
        if (!file_) throw std::runtime_error("cannot write all of " + path_);
    }

    void flush() { file_.flush(); }

  private:
    struct Record {
        Direction direction;
        Bytes frame;
    };
    static constexpr uint64_t kNothing = ~0ull;

    static std::string number(uint64_t value, int bytes) {
        std::string out;
        for (int i = 0; i < bytes; i++) out.push_back(static_cast<char>(value >> 8 * i));
        return out;
    }
    static std::string half(uint16_t value) { return number(value, 2); }
    static std::string word(uint32_t value) { return number(value, 4); }
    static std::string padded(std::string text) { return text.append(-text.size() & 3, '\0'); }
    static std::string option(uint16_t code, const std::string& value) {
        return half(code) + half(static_cast<uint16_t>(value.size())) + padded(value);
    }

    void block(uint32_t type, const std::string& body) {
        const std::string size = word(static_cast<uint32_t>(body.size() + 12));
        file_ << word(type) << size << body << size;
    }

    void write(uint64_t time_ns, const Record& record) {
        const std::string data(record.frame.begin(), record.frame.end());
        const std::string size = word(static_cast<uint32_t>(data.size()));
        block(6, word(record.direction) + word(static_cast<uint32_t>(time_ns >> 32)) + word(static_cast<uint32_t>(time_ns)) + size + size + padded(data));
    }

    std::ofstream file_;
    std::string path_;
    uint64_t begun_[2] = {kNothing, kNothing};
    std::multimap<uint64_t, Record> waiting_;
};

// The frames of a pcap file (not pcapng), each with its distance in time from the previous one. They repeat from the first after the last.
class Player {
  public:
    struct Item {
        uint64_t after_ns;
        Bytes frame;
    };

    explicit Player(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
        const std::string all((std::istreambuf_iterator<char>(file)), {});
        if (all.size() < 24) throw std::runtime_error(path + " is no pcap file: it has " + std::to_string(all.size()) + " bytes");
        const uint32_t magic = word(all, 0, false);
        const bool swapped = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
        const bool nanoseconds = magic == 0xa1b23c4d || magic == 0x4d3cb2a1;
        if (!swapped && !nanoseconds && magic != 0xa1b2c3d4)
            throw std::runtime_error(path + " is no pcap file; a pcapng file becomes one with: editcap -F nsecpcap IN OUT");
        uint64_t before_ns = 0;
        for (size_t at = 24; at < all.size();) {
            if (at + 16 > all.size() || at + 16 + word(all, at + 8, swapped) > all.size())
                throw std::runtime_error(path + " ends inside of frame " + std::to_string(items_.size() + 1));
            const uint64_t time_ns = word(all, at, swapped) * 1000000000ull + word(all, at + 4, swapped) * (nanoseconds ? 1ull : 1000ull);
            const size_t size = word(all, at + 8, swapped);
            if (size == 0 || size > kMaxFrame) throw std::runtime_error(path + ": frame " + std::to_string(items_.size() + 1) + " has " + std::to_string(size) + " bytes");
            items_.push_back({items_.empty() || time_ns < before_ns ? 0 : time_ns - before_ns, Bytes(all.begin() + at + 16, all.begin() + at + 16 + size)});
            before_ns = time_ns;
            at += 16 + size;
        }
        if (items_.empty()) throw std::runtime_error(path + " has no frames");
    }

    const Item& next() {
        const Item& item = items_[at_];
        at_ = (at_ + 1) % items_.size();
        return item;
    }

  private:
    static uint32_t word(const std::string& all, size_t at, bool swapped) {
        uint32_t value = 0;
        for (size_t i = 0; i < 4; i++) value |= static_cast<uint32_t>(static_cast<uint8_t>(all[at + i])) << 8 * (swapped ? 3 - i : i);
        return value;
    }

    std::vector<Item> items_;
    size_t at_ = 0;
};
