// Where results go: a file, or a socket to the host. Each line is there as soon as it is written, and what could not be
// written is an error.
#pragma once

#include <sys/socket.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

class Reports {
  public:
    // A file of its own.
    void open_file(const std::string& path) {
        file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        name_ = path;
        if (file_ < 0) fail();
    }
    // The host's socket: it may end us by ending it.
    void open_host(int fd) {
        host_ = fd;
        name_ = "the host's socket";
    }

    bool has_host() const { return host_ >= 0; }

    // A line for whoever wants results.
    void line(const char* format, ...) __attribute__((format(printf, 2, 3))) {
        char text[256];
        va_list values;
        va_start(values, format);
        const int n = std::vsnprintf(text, sizeof text, format, values);
        va_end(values);
        if (n < 0 || static_cast<size_t>(n) >= sizeof text) throw std::runtime_error("a result does not fit its line");
        if (file_ >= 0) write_all(file_, text, static_cast<size_t>(n));
        if (host_ >= 0) waiting_.append(text, static_cast<size_t>(n));
    }

    // A line for the host alone.
    void tell(const std::string& text) {
        if (host_ >= 0) waiting_ += text;
    }

    // What waits for the host leaves; whether the host is still there.
    bool pass_on() {
        if (host_ < 0 || is_gone_) return !is_gone_;
        for (size_t at = 0; at < waiting_.size();) {
            const ssize_t n = send(host_, waiting_.data() + at, waiting_.size() - at, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) {
                is_gone_ = true;
                break;
            }
            at += static_cast<size_t>(n);
        }
        waiting_.clear();
        return !is_gone_;
    }

    // Whether the host wants no more.
    bool is_over() {
        if (host_ < 0) return false;
        char nothing[16];
        const ssize_t n = recv(host_, nothing, sizeof nothing, MSG_DONTWAIT);
        return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    }

    void close_file() {
        if (file_ < 0) return;
        const int fd = file_;
        file_ = -1;
        if (close(fd) != 0) fail();
    }

  private:
    void write_all(int fd, const char* text, size_t size) {
        while (size) {
            const ssize_t n = write(fd, text, size);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail();
            text += n, size -= static_cast<size_t>(n);
        }
    }
    [[noreturn]] void fail() { throw std::runtime_error(name_ + ": " + std::strerror(errno)); }

    int file_ = -1, host_ = -1;
    bool is_gone_ = false;
    std::string name_, waiting_;
};
