// The body of a response whose bytes are all there, and its CRC-32: what the module's sum is compared with.
#pragma once

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

inline uint32_t crc_of(const std::string& bytes) {
    uint32_t crc = ~0u;
    for (const char c : bytes) {
        crc ^= static_cast<uint8_t>(c);
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

// Without the framing of chunks; nothing if a part is missing.
inline std::optional<std::string> body_of(const std::string& text) {
    size_t start = 0;
    for (;;) {
        const size_t end = text.find("\r\n\r\n", start);
        if (end == std::string::npos || text.size() < start + 12) return {};
        const unsigned long status = std::strtoul(text.c_str() + start + 9, nullptr, 10);
        std::string head = text.substr(start, end - start + 2);
        for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        start = end + 4;
        // Another response follows.
        if (status < 200) continue;
        if (status == 204 || status == 304) return "";
        if (head.find("\r\ntransfer-encoding:") != std::string::npos) break;
        const std::string name = "\r\ncontent-length:";
        const size_t length_at = head.find(name);
        if (length_at == std::string::npos) return text.substr(start);
        const size_t length = std::strtoul(head.c_str() + length_at + name.size(), nullptr, 10);
        if (text.size() < start + length) return {};
        return text.substr(start, length);
    }
    std::string body;
    for (;;) {
        const size_t line = text.find("\r\n", start);
        if (line == std::string::npos) return {};
        const size_t size = std::strtoul(text.c_str() + start, nullptr, 16);
        if (size == 0) return body;
        if (text.size() < line + 2 + size + 2) return {};
        body += text.substr(line + 2, size);
        start = line + 2 + size + 2;
    }
}
