// Reads the rows of a load from the module (session_rows.sv) while it runs, a word at a time.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

template <typename Top>
class RowReader {
  public:
    RowReader(Top& top, unsigned outcomes, bool are_there) : top_(top), outcomes_(outcomes), are_there_(are_there) {}

    // Before a cycle.
    void ask() {
        top_.row_read_i = asks_ = !answered_ && has_more();
        top_.row_read_row_i = next_;
        top_.row_read_word_i = static_cast<uint8_t>(place());
        answered_ = false;
    }

    // Behind a cycle: whether a whole row has come with it.
    bool passed() {
        if (!asks_ || !top_.row_read_valid_o) return false;
        if (taken_) words_.clear(), taken_ = false;
        words_.push_back(top_.row_read_o);
        answered_ = true;
        if (words_.size() < outcomes_ + Sums) return false;
        if (top_.row_o >= next_ + Rows) throw std::runtime_error("a row was not read in time");
        number_ = next_++;
        return taken_ = true;
    }

    uint32_t number() const { return number_; }
    const std::vector<uint64_t>& words() const { return words_; }

    // Nothing more is counted: all rows can be read.
    void ends() { open_ = 0; }
    bool has_more() const { return are_there_ && top_.row_o >= next_ + open_; }

  private:
    static constexpr unsigned Sums = 4, FirstSum = 16, Rows = 16;

    unsigned place() const {
        const auto at = static_cast<unsigned>(taken_ ? 0 : words_.size());
        return at < outcomes_ ? at : FirstSum + at - outcomes_;
    }

    Top& top_;
    unsigned outcomes_;
    bool are_there_, asks_ = false, answered_ = false, taken_ = false;
    uint32_t next_ = 0, number_ = 0, open_ = 2;
    std::vector<uint64_t> words_;
};
