// What the process is asked for: options, the device that they name, and packed structs.
#pragma once

#include <arpa/inet.h>
#include <linux/if_tun.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "descriptors.hpp"

// An option, its value, and what it means.
struct Known {
    const char* name;
    const char* value;
    const char* meaning;
};
constexpr std::array KnownOptions = {
    Known{"sessions", "N", "sessions in use"},
    Known{"departures", "N", "requests in all"},
    Known{"each", "0|1", "a connection for each request"},
    Known{"fin", "0|1", "with each: we close"},
    Known{"open_gap", "CYCLES", "between openings of connections"},
    Known{"first", "CYCLE", "of the first departure"},
    Known{"whole", "N", "cycles between departures; without it, pieces and a list, a closed loop"},
    Known{"numerator", "N", "of the rest of a cycle between departures"},
    Known{"denominator", "N", ""},
    Known{"piece", "TICKS:MODULUS:SLACK:EACH:CHANGE:RISE:REPEATS", "of a rate that changes (session_pieces.sv), again for more"},
    Known{"listed", "N", "due times, each of 8 bytes, lowest first, that standard input has"},
    Known{"path", "PATH", "again for more; {sequence} or {random} become eight digits"},
    Known{"request_bytes", "N", "requests are padded to"},
    Known{"template", "FIELD:PLACE:HEX", "a whole request, again for more; FIELD: none, sequence, random"},
    Known{"status_low", "N", "statuses that are expected"},
    Known{"status_high", "N", ""},
    Known{"length_low", "N", "bytes of bodies that are expected"},
    Known{"length_high", "N", ""},
    Known{"sums", "0|1", "bodies are summed (CRC-32)"},
    Known{"sum", "HEX", "what the body must sum up to; again for that of the next template"},
    Known{"same", "0|1", "or to what it did in the first response of its template"},
    Known{"row_first", "CYCLE", "in which the first interval starts"},
    Known{"row_ticks", "CYCLES", "of an interval; 0: there are none"},
    Known{"patience", "MS", "for a response, by TCP's clock"},
    Known{"open_patience", "MS", "for a connection"},
    Known{"micro", "CYCLES", "in a microsecond of TCP's clock"},
    Known{"stamps", "0|1", "TCP options"},
    Known{"sack", "0|1", ""},
    Known{"shift", "N", ""},
    Known{"mss", "N", ""},
    Known{"quarantine", "MS", "before a port is used again"},
    Known{"secret", "N", "from which sequence numbers and random digits start"},
    Known{"tap", "NAME", "a new device at the other end of the wire"},
    Known{"wire_fd", "N", "an open descriptor at the other end of the wire"},
    Known{"tap_address", "A.B.C.D", "the target's; a new device has it, /24"},
    Known{"address", "A.B.C.D", "ours"},
    Known{"mac", "HEX", "ours"},
    Known{"peer_mac", "HEX", "the target's, if not of a new device"},
    Known{"port", "N", "of session 0"},
    Known{"peer_port", "N", "of the target"},
    Known{"answer_bytes", "N", "headers and body of the responder's answer"},
    Known{"chunked", "0|1", "its body is"},
    Known{"most", "N", "bytes of its segments"},
    Known{"swapped", "0|1", "its second segment comes first"},
    Known{"closes", "0|1", "it ends the connection behind an answer"},
    Known{"silent", "0|1", "it sends nothing"},
    Known{"resets", "0|1", "it resets the connection"},
    Known{"cut", "N", "it ends the connection after so many bytes"},
    Known{"alters", "N", "in each n-th body, two bytes change places"},
    Known{"drops", "N", "each n-th frame is lost"},
    Known{"status", "N", "of its answer"},
    Known{"delay", "CYCLES", "until its answer starts"},
    Known{"backload", "0|1", "minimal frames on the way in whenever it is free"},
    Known{"redis_tap", "NAME", "a new device at the end of the wire to Redis: an event for each departure"},
    Known{"redis_fd", "N", "or an open descriptor"},
    Known{"redis_passed", "0|1", "or one that comes over --host_fd, behind listed due times"},
    Known{"redis_tap_address", "A.B.C.D", "Redis's; a new device has it, /24"},
    Known{"redis_port", "N", "Redis's"},
    Known{"redis_peer_mac", "HEX", "Redis's; otherwise, the module asks for it"},
    Known{"redis_address", "A.B.C.D", "ours"},
    Known{"redis_mac", "HEX", "ours"},
    Known{"redis_from", "N", "ours: the port before that of the first connection"},
    Known{"redis_key", "TEXT", "of the stream"},
    Known{"redis_pause", "MS", "from the end of a connection to the next, by TCP's clock"},
    Known{"redis_patience", "MS", "without a reply"},
    Known{"redis_flush", "MS", "until events leave that are fewer than 40"},
    Known{"redis_micro", "CYCLES", "in a microsecond of its clock, if not as --micro"},
    Known{"redis_drops", "N", "each n-th frame is lost"},
    Known{"redis_linger", "CYCLES", "at most, after the load, until all events have a reply"},
    Known{"results", "FILE", "a line for each departure"},
    Known{"host_fd", "N", "a socket: the same lines, the time, and what is said at the end; its end ends us"},
    Known{"cycles", "N", "at most"},
    Known{"linger", "CYCLES", "after the last departure's outcome"},
    Known{"seed", "N", "what memories hold at first"},
};

class Options {
  public:
    Options(int argc, char** argv) {
        for (int i = 1; i < argc; i += 2) {
            const std::string flag = argv[i];
            if (flag == "--help") std::fputs(usage().c_str(), stdout), std::exit(0);
            const std::string name = flag.compare(0, 2, "--") == 0 ? flag.substr(2) : "";
            if (!is_known(name)) refuse("there is no option " + flag);
            if (i + 1 == argc) refuse(flag + " has no value");
            given_[name].push_back(argv[i + 1]);
        }
    }
    uint64_t number(const std::string& name, uint64_t otherwise, int base = 0) const {
        const auto found = given_.find(name);
        if (found == given_.end()) return otherwise;
        const std::string& text = found->second.back();
        char* end = nullptr;
        errno = 0;
        const uint64_t value = std::strtoull(text.c_str(), &end, base);
        if (errno != 0 || end == text.c_str() || *end != 0 || text[0] == '-')
            refuse("--" + name + " " + text + " is no number");
        return value;
    }
    std::string text(const std::string& name, const std::string& otherwise) const {
        const auto found = given_.find(name);
        return found == given_.end() ? otherwise : found->second.back();
    }
    std::vector<std::string> texts(const std::string& name) const {
        const auto found = given_.find(name);
        return found == given_.end() ? std::vector<std::string>{} : found->second;
    }
    bool has(const std::string& name) const { return given_.count(name) != 0; }

  private:
    static bool is_known(const std::string& name) {
        for (const Known& known : KnownOptions)
            if (name == known.name) return true;
        return false;
    }
    static std::string usage() {
        std::string text = "tare-session-sim [--OPTION VALUE]...\n";
        for (const Known& known : KnownOptions)
            text += std::string("  --") + known.name + " " + known.value + (*known.meaning ? "  " : "") + known.meaning + "\n";
        return text;
    }
    [[noreturn]] static void refuse(const std::string& why) {
        std::fprintf(stderr, "tare-session-sim: %s; --help shows all options\n", why.c_str());
        std::exit(2);
    }

    std::map<std::string, std::vector<std::string>> given_;
};

inline uint32_t address_of(const std::string& text) {
    in_addr address{};
    if (inet_aton(text.c_str(), &address) == 0) throw std::runtime_error(text + " is no address");
    return ntohl(address.s_addr);
}

// A new TAP device in this process's namespace, with an address, up. It goes with the process.
struct Tap {
    int fd;
    uint64_t mac = 0;

    Tap(const std::string& name, const std::string& address) : fd(open("/dev/net/tun", O_RDWR)) {
        const auto check = [](int result, const char* what) {
            if (result < 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
        };
        check(fd, "/dev/net/tun");
        ifreq request{};
        std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
        request.ifr_flags = IFF_TAP | IFF_NO_PI;
        check(ioctl(fd, TUNSETIFF, &request), "TUNSETIFF");
        const int control = socket(AF_INET, SOCK_DGRAM, 0);
        check(control, "socket");
        const auto set = [&](unsigned long what, const char* value) {
            auto* in = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
            std::memset(in, 0, sizeof *in);
            in->sin_family = AF_INET;
            inet_aton(value, &in->sin_addr);
            check(ioctl(control, what, &request), value);
        };
        set(SIOCSIFADDR, address.c_str());
        set(SIOCSIFNETMASK, "255.255.255.0");
        check(ioctl(control, SIOCGIFFLAGS, &request), "SIOCGIFFLAGS");
        request.ifr_flags |= IFF_UP | IFF_RUNNING;
        check(ioctl(control, SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
        check(ioctl(control, SIOCGIFHWADDR, &request), "SIOCGIFHWADDR");
        for (int i = 0; i < 6; i++) mac = mac << 8 | static_cast<uint8_t>(request.ifr_hwaddr.sa_data[i]);
        close(control);
    }
};

// A packed struct, from its highest member on.
class Packed {
  public:
    Packed& put(uint64_t value, unsigned bits) {
        for (unsigned bit = bits; bit--;) bits_.push_back(value >> bit & 1);
        return *this;
    }
    template <typename Port>
    void into(Port& port) const {
        for (size_t i = 0; i < sizeof(port) / 4; i++) port[i] = 0;
        const size_t n = bits_.size();
        for (size_t i = 0; i < n; i++)
            if (bits_[n - 1 - i]) port[i / 32] |= 1u << i % 32;
    }
    size_t size() const { return bits_.size(); }

  private:
    std::vector<bool> bits_;
};
