// Rows of a load: how many departures ended in each interval, by outcome, and sums over those that were done.
// So a host that cannot read each result has the course of the load, if it reads each row in time.
//
// Row r has the departures that ended (due + done, as in the result) from row_first + r * row_ticks on, and
// before the next one's start. The row under way and the one before it are open, as a result may come a while
// after the end of its departure; one whose row is closed goes into the latter and is reported as late. A
// host reads a row when the one after the next is under way, and has Rows - 3 intervals for it.
//
//   word  0 … 15   departures with that outcome
//        16        ticks from due to the last byte, of all that were done
//        17        from the first byte of the request on
//        18        from there (with a connection for each, from when it was there) to the response's first byte
//        19        bytes of all bodies of what was done
//
// All words are in one memory, each beside the number of its row, so that none has to be cleared: a word of
// another row is 0. A word is read, added to and written, and one may begin every cycle. A result's count
// goes at once, so departures may be missed in every tick. Its sums take the next free cycles; the next
// response's result is at least six cycles behind, in which nothing is missed.
//
// Rules (formal/session_rows_rules.sv):
//   1 a word of a row has what the results of that row add up to;
//   2 a result counts in no row but its own.
module session_rows
  import session_engine_pkg::*;
#(
    parameter int unsigned Rows = 16
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  load_t       load_i,
    input  logic        start_i,
    input  tick_t       now_i,
    // All words, one after another.
    input  logic        clear_i,
    input  index_t      clear_place_i,
    input  logic        result_valid_i,
    input  result_t     result_i,
    // While it is high, and from the cycle behind its first one on, nothing more is counted.
    input  logic        hold_i,
    input  logic        read_i,       // held until the answer comes
    input  row_t        read_row_i,
    input  logic [4:0]  read_word_i,
    output logic        read_valid_o,
    output logic [47:0] read_o,
    output row_t        row_o,        // under way
    output logic        late_o
);
  localparam int unsigned Low = $clog2(Rows);
  typedef logic [23:0] tag_t;
  typedef logic [Low+4:0] row_word_t;
  typedef struct packed {
    tag_t        tag;
    logic [47:0] value;
  } word_t;
  typedef struct packed {
    row_t        row;
    logic [4:0]  word_;
    logic [47:0] add;
  } addition_t;

  // Which row it is.
  row_t row_q;
  tick_t start_q, before_q, next_q;
  logic hold_q;
  wire passes = load_i.row_ticks != '0 && now_i >= next_q && !hold_q;
  assign row_o = row_q;
  always_ff @(posedge clk_i) begin
    hold_q <= hold_i;
    if (passes) begin
      row_q    <= row_q + 28'd1;
      before_q <= start_q;
      start_q  <= next_q;
      next_q   <= next_q + 48'(load_i.row_ticks);
    end
    if (start_i) begin
      row_q    <= '0;
      before_q <= load_i.row_first;
      start_q  <= load_i.row_first;
      next_q   <= load_i.row_first + 48'(load_i.row_ticks);
    end
    if (!rst_ni) begin
      row_q  <= '0;
      hold_q <= 1'b0;
    end
  end

  // A result, and when it ended.
  logic valid_q, done_q;
  tick_t end_q;
  outcome_e outcome_q;
  logic [3:0][47:0] values_q;
  wire [31:0] net = result_i.done - result_i.sent;
  wire [31:0] first = result_i.first - (load_i.each ? result_i.connected : result_i.sent);
  always_ff @(posedge clk_i) begin
    valid_q   <= result_valid_i && load_i.row_ticks != '0 && !hold_q && rst_ni;
    done_q    <= result_i.outcome == OutcomeDone;
    end_q     <= result_i.due + 48'(result_i.done);
    outcome_q <= result_i.outcome;
    values_q  <= {48'(result_i.size), 48'(first), 48'(net), 48'(result_i.done)};
  end
  wire is_here = end_q >= start_q;
  wire row_t its_row = is_here ? row_q : row_q - 28'd1;

  // Its sums wait for free cycles.
  logic [2:0] left_q;  // of them
  row_t sums_row_q;
  logic [3:0][47:0] sums_q;
  addition_t adding;
  always_comb begin
    adding.row   = valid_q ? its_row : sums_row_q;
    adding.word_ = valid_q ? {1'b0, outcome_q} : {3'b100, 2'(3'd4 - left_q)};
    adding.add   = valid_q ? 48'd1 : sums_q[0];
  end
  wire adds = valid_q || left_q != '0;
  always_ff @(posedge clk_i) begin
    late_o <= valid_q && (!is_here && row_q == '0 || end_q < before_q);
    if (!valid_q && left_q != '0) begin
      left_q <= left_q - 3'd1;
      sums_q <= {48'd0, sums_q[3:1]};
    end
    if (valid_q && done_q) begin
      left_q     <= 3'd4;
      sums_row_q <= its_row;
      sums_q     <= values_q;
    end
    if (!rst_ni) left_q <= '0;
  end

  // Read, two cycles later added to, and written at the end of that cycle. So two that began before it are not
  // in the memory yet when a word is read, and a word that one of them had is taken from there.
  (* no_rw_check *)
  word_t memory[32*Rows];
  addition_t at_q, then_q;
  logic adding_q, then_adding_q, reading_q, then_reading_q, again_q, again2_q, now_again_q, now_again2_q;
  word_t fetched_q, found_q, written_q, written2_q;
  function automatic row_word_t place_of(input addition_t of);
    return {of.row[Low-1:0], of.word_};
  endfunction
  wire addition_t asked = adds ? adding : {read_row_i, read_word_i, 48'd0};
  wire row_word_t place = place_of(asked);
  wire word_t found = now_again_q ? written_q : now_again2_q ? written2_q : found_q;
  wire is_of_row = found.tag == tag_t'(then_q.row >> Low);
  wire [47:0] value = found.value + then_q.add;
  word_t written;
  assign written.tag = clear_i ? '1 : tag_t'(then_q.row >> Low);
  assign written.value = is_of_row ? value : then_q.add;
  wire row_word_t written_place = clear_i ? clear_place_i[Low+4:0] : place_of(then_q);
  always_ff @(posedge clk_i) begin
    if (clear_i || then_adding_q) memory[written_place] <= written;
    fetched_q    <= memory[place];
    found_q      <= fetched_q;
    written_q    <= written;
    written2_q   <= written_q;
    at_q         <= asked;
    then_q       <= at_q;
    adding_q     <= adds && rst_ni;
    then_adding_q <= adding_q && rst_ni;
    // Of the one before, and of the one before that.
    again_q      <= adding_q && place == place_of(at_q);
    again2_q     <= then_adding_q && place == place_of(then_q);
    now_again_q  <= again_q;
    now_again2_q <= again2_q;
    reading_q      <= read_i && !adds && !reading_q && !then_reading_q && !read_valid_o && rst_ni;
    then_reading_q <= reading_q && rst_ni;
    read_valid_o   <= then_reading_q && rst_ni;
    read_o         <= written.value;
  end
endmodule
