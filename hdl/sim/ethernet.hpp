// The bytes of a frame on the wire (IEEE 802.3), one per cycle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

using Bytes = std::vector<uint8_t>;

constexpr size_t kPreambleBytes = 8;  // with the delimiter
constexpr size_t kMinFrame = 60;      // without FCS
constexpr size_t kFcsBytes = 4;
constexpr unsigned kGapBytes = 12;
// The longest frame. Longer ones are an error of their sender.
constexpr size_t kMaxFrame = 16000;

inline uint32_t crc32(const uint8_t* data, size_t size) {
    static const auto table = [] {
        std::array<uint32_t, 256> t{};
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
            t[i] = c;
        }
        return t;
    }();
    uint32_t c = ~0u;
    for (size_t i = 0; i < size; i++) c = table[(c ^ data[i]) & 0xff] ^ c >> 8;
    return ~c;
}

// Preamble, frame, padding, FCS.
inline Bytes on_the_wire(const Bytes& frame) {
    Bytes out(kPreambleBytes - 1, 0x55);
    out.push_back(0xd5);
    out.insert(out.end(), frame.begin(), frame.end());
    if (frame.size() < kMinFrame) out.resize(kPreambleBytes + kMinFrame);
    const uint32_t fcs = crc32(out.data() + kPreambleBytes, out.size() - kPreambleBytes);
    for (size_t i = 0; i < kFcsBytes; i++) out.push_back(static_cast<uint8_t>(fcs >> 8 * i));
    return out;
}

// Extracts the frame from bytes of the wire. Empty if there is none, or if its FCS is wrong.
inline Bytes frame_of(const Bytes& wire) {
    size_t at = 0;
    while (at < wire.size() && wire[at] == 0x55) at++;
    if (at + 1 + kFcsBytes >= wire.size() || wire[at] != 0xd5) return {};
    const uint8_t* begin = wire.data() + at + 1;
    const size_t size = wire.size() - at - 1 - kFcsBytes;
    const uint32_t fcs = crc32(begin, size);
    for (size_t i = 0; i < kFcsBytes; i++)
        if (begin[size + i] != static_cast<uint8_t>(fcs >> 8 * i)) return {};
    return Bytes(begin, begin + size);
}
