// A server that keeps nothing: what it sends follows from what it receives. And the checks of every frame
// that the module sends: lengths and checksums.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "ethernet.hpp"

inline uint16_t half(const Bytes& b, size_t at) { return static_cast<uint16_t>(b[at] << 8 | b[at + 1]); }
inline uint32_t word(const Bytes& b, size_t at) {
    return static_cast<uint32_t>(half(b, at)) << 16 | half(b, at + 2);
}
inline void put(Bytes& b, uint64_t value, unsigned bytes) {
    while (bytes--) b.push_back(static_cast<uint8_t>(value >> 8 * bytes));
}
inline uint32_t sum_of(const uint8_t* data, size_t size, uint32_t sum = 0) {
    for (size_t i = 0; i < size; i++) sum += i & 1 ? data[i] : static_cast<uint32_t>(data[i]) << 8;
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

enum Control : uint8_t { Fin = 1, Syn = 2, Rst = 4, Psh = 8, Ack = 16 };

struct Segment {
    uint64_t from_mac = 0, to_mac = 0;
    uint32_t from = 0, to = 0;
    uint16_t from_port = 0, to_port = 0;
    uint32_t seq = 0, ack = 0;
    uint8_t control = 0;
    uint16_t window = 65535;
    Bytes options, text;

    Bytes frame() const {
        Bytes out;
        put(out, to_mac, 6), put(out, from_mac, 6), put(out, 0x0800, 2);
        const size_t tcp = 20 + options.size() + text.size();
        put(out, 0x4500, 2), put(out, 20 + tcp, 2), put(out, 0x00004000, 4);
        put(out, 0x4006, 2), put(out, 0, 2), put(out, from, 4), put(out, to, 4);
        const uint32_t header = ~sum_of(out.data() + 14, 20);
        out[24] = static_cast<uint8_t>(header >> 8), out[25] = static_cast<uint8_t>(header);
        put(out, from_port, 2), put(out, to_port, 2), put(out, seq, 4), put(out, ack, 4);
        put(out, (5 + options.size() / 4) << 12 | control, 2), put(out, window, 2), put(out, 0, 4);
        out.insert(out.end(), options.begin(), options.end());
        out.insert(out.end(), text.begin(), text.end());
        const uint32_t pseudo = sum_of(out.data() + 26, 8, static_cast<uint32_t>(6 + tcp));
        const uint32_t sum = ~sum_of(out.data() + 34, tcp, pseudo);
        out[50] = static_cast<uint8_t>(sum >> 8), out[51] = static_cast<uint8_t>(sum);
        return out;
    }

    // Nothing if it is another protocol; `wrong` is set if lengths or checksums are not right.
    static std::optional<Segment> read(const Bytes& b, bool& wrong) {
        if (b.size() < 34 || half(b, 12) != 0x0800) return {};
        const size_t packet = half(b, 16);
        if (b[14] != 0x45 || packet < 20 || b.size() < 14 + packet || sum_of(b.data() + 14, 20) != 0xffff) {
            wrong = true;
            return {};
        }
        if (b[23] != 6) return {};
        const size_t tcp = packet - 20, header = static_cast<size_t>(b[46] >> 4) * 4;
        if (tcp < 20 || header < 20 || header > tcp ||
            sum_of(b.data() + 34, tcp, sum_of(b.data() + 26, 8, static_cast<uint32_t>(6 + tcp))) != 0xffff) {
            wrong = true;
            return {};
        }
        Segment s;
        s.to_mac = static_cast<uint64_t>(half(b, 0)) << 32 | word(b, 2);
        s.from_mac = static_cast<uint64_t>(half(b, 6)) << 32 | word(b, 8);
        s.from = word(b, 26), s.to = word(b, 30), s.from_port = half(b, 34), s.to_port = half(b, 36);
        s.seq = word(b, 38), s.ack = word(b, 42), s.control = b[47], s.window = half(b, 48);
        s.options.assign(b.begin() + 54, b.begin() + 34 + static_cast<long>(header));
        s.text.assign(b.begin() + 34 + static_cast<long>(header), b.begin() + 14 + static_cast<long>(packet));
        return s;
    }
};

class Responder {
  public:
    struct Plan {
        std::string answer;
        size_t most = 1460;     // bytes of a segment
        bool swapped = false;   // the second segment of an answer comes before the first
        bool closes = false;    // FIN behind the answer
        bool silent = false;
        bool resets = false;    // a request is answered by RST
        unsigned drops = 0;     // each n-th frame, either way, is lost
        size_t cut = 0;         // FIN after that many bytes of the answer
        unsigned alters = 0;    // in each n-th answer, two bytes of the body change places
        std::string first;      // a request must begin with this
    };

    explicit Responder(Plan plan) : plan_(std::move(plan)) {}

    // What comes back.
    std::vector<Bytes> answer(const Segment& s) {
        std::vector<Bytes> out;
        if (plan_.silent || (s.control & Rst) || lost()) return out;
        Segment back;
        back.from_mac = s.to_mac, back.from = s.to, back.from_port = s.to_port;
        back.to_mac = s.from_mac, back.to = s.from, back.to_port = s.from_port;
        back.seq = s.ack, back.control = Ack;
        back.ack = s.seq + static_cast<uint32_t>(s.text.size()) + (s.control & (Syn | Fin) ? 1 : 0);
        const auto send = [&](const Segment& segment) {
            if (!lost()) out.push_back(segment.frame());
        };
        if (s.control & Syn) {
            back.seq = s.from_port * 0x9e3779b1u ^ s.seq;
            back.control = Syn | Ack;
            put(back.options, 0x020405b4, 4);
            send(back);
        } else if (!s.text.empty()) {
            requests++;
            const std::string text(s.text.begin(), s.text.end());
            if (text.compare(0, plan_.first.size(), plan_.first) != 0 || !is_whole(text)) wrong_requests++;
            if (plan_.resets) {
                back.control = Rst;
                send(back);
                return out;
            }
            std::vector<Segment> parts;
            const std::string answer = answered();
            const size_t all = plan_.cut ? std::min(plan_.cut, plan_.answer.size()) : plan_.answer.size();
            for (size_t at = 0; at < all; at += plan_.most) {
                Segment part = back;
                const size_t n = std::min(plan_.most, all - at);
                part.seq += static_cast<uint32_t>(at);
                const auto start = answer.begin() + static_cast<long>(at);
                part.text.assign(start, start + static_cast<long>(n));
                if (at + n == all) part.control |= Psh;
                parts.push_back(part);
            }
            if (plan_.swapped && parts.size() > 1) std::swap(parts[0], parts[1]);
            for (const Segment& part : parts) send(part);
            if (plan_.closes || plan_.cut) {
                back.seq += static_cast<uint32_t>(all);
                back.control = Fin | Ack;
                send(back);
            }
        } else if (s.control & Fin) {
            send(back);
        }
        return out;
    }

    uint64_t requests = 0, wrong_requests = 0;

  private:
    std::string answered() const {
        std::string answer = plan_.answer;
        const size_t body = answer.find("\r\n\r\n") + 4;
        if (plan_.alters && requests % plan_.alters == 0 && answer.size() >= body + 3)
            std::swap(answer[body], answer[body + 2]);
        return answer;
    }

    // A head, and as much behind it as its Content-Length says.
    static bool is_whole(const std::string& text) {
        const std::string name = "\r\nContent-Length: ";
        const size_t end = text.find("\r\n\r\n"), at = text.find(name);
        if (end == std::string::npos) return false;
        const size_t length = at < end ? std::strtoul(text.c_str() + at + name.size(), nullptr, 10) : 0;
        return text.size() == end + 4 + length;
    }

    bool lost() { return plan_.drops && ++frames_ % plan_.drops == 0; }

    Plan plan_;
    uint64_t frames_ = 0;
};
