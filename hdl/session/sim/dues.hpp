// When departures are due: the words of a rate's pieces (session_pieces.sv), or a list that the host feeds.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "options.hpp"

class Dues {
  public:
    explicit Dues(const Options& o) {
        for (const std::string& text : o.texts("piece")) add(text);
        if (o.has("whole")) {
            // One departure each whole + numerator / denominator ticks, for ever.
            const uint64_t each = o.number("denominator", 1);
            const auto modulus = static_cast<Wide>(o.number("whole", 0)) * each + o.number("numerator", 0);
            if (modulus > MostModulus) throw std::runtime_error("the gap does not fit the registers");
            add(Piece{(1ull << 48) - 1, static_cast<uint64_t>(modulus), 0, each, 0, 0, 0});
        }
        if (pieces_ > MostPieces) throw std::runtime_error("the rate has more than 32 pieces");
        if (o.has("listed")) read(o.number("listed", 0));
        are_known_ = pieces_ || o.has("listed");
    }

    // Otherwise, the load is a closed loop.
    bool are_known() const { return are_known_; }
    unsigned pieces() const { return pieces_; }
    const std::vector<uint32_t>& words() const { return words_; }

    bool has_next() const { return at_ < list_.size(); }
    uint64_t next() const { return list_[at_]; }
    void pass() { at_++; }

  private:
    __extension__ typedef unsigned __int128 Wide;
    static constexpr unsigned MostPieces = 32;
    static constexpr uint64_t MostModulus = 1ull << 60;

    struct Piece {
        uint64_t ticks, modulus, slack, each, change, rise, repeats;
    };

    void add(const std::string& text) {
        Piece p{};
        uint64_t* const members[] = {&p.ticks, &p.modulus, &p.slack, &p.each, &p.change, &p.rise, &p.repeats};
        const char* at = text.c_str();
        for (size_t i = 0; i < 7; i++) {
            char* end = nullptr;
            errno = 0;
            // Only the change may be negative.
            *members[i] = i == 4 ? static_cast<uint64_t>(std::strtoll(at, &end, 10)) : std::strtoull(at, &end, 10);
            const bool is_number = errno == 0 && end != at && (*at != '-' || i == 4);
            if (!is_number || *end != (i < 6 ? ':' : 0)) throw std::runtime_error("--piece " + text + " is no piece");
            at = end + 1;
        }
        if (p.ticks == 0 || p.ticks >> 48 || p.modulus == 0 || p.modulus > MostModulus || p.slack >= p.modulus ||
            p.each > p.modulus || p.repeats >> 32)
            throw std::runtime_error("--piece " + text + " does not fit the registers");
        add(p);
    }

    void add(const Piece& p) {
        const uint64_t eight = 8 * p.each + 28 * p.change, rest = p.modulus - p.each;
        for (uint64_t value : {p.ticks, p.slack, p.each, eight, rest, p.change, p.rise, p.repeats}) {
            words_.push_back(static_cast<uint32_t>(value));
            words_.push_back(static_cast<uint32_t>(value >> 32));
        }
        pieces_++;
    }

    void read(uint64_t count) {
        std::vector<uint8_t> bytes(count * 8);
        for (size_t at = 0; at < bytes.size();) {
            const ssize_t n = ::read(0, bytes.data() + at, bytes.size() - at);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) throw std::runtime_error("the list of due times ends before its end");
            at += static_cast<size_t>(n);
        }
        for (size_t i = 0; i < count; i++) {
            uint64_t value = 0;
            for (size_t byte = 8; byte--;) value = value << 8 | bytes[8 * i + byte];
            list_.push_back(value);
        }
    }

    bool are_known_ = false;
    unsigned pieces_ = 0;
    std::vector<uint32_t> words_;
    std::vector<uint64_t> list_;
    size_t at_ = 0;
};
