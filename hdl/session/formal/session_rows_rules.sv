// Rules of session_rows. The solver chooses a row and a word; the results that belong there are added up
// here, by where rows start: row_first + r * row_ticks, as written. Numbers are small: rows of 1 to 7 ticks,
// times of up to 31.
//
//   1 the word is what these results add up to, until the row's place is needed for another;
//   2 a result is reported as late if it ended before the row that precedes the one under way, and counts in
//     that; any other counts in its own row alone.
//
// What is assumed is that a result comes behind its departure's end, that at least five cycles without a result
// lie between one with sums and the next, and that `hold_i` stays.
module session_rows_rules
  import session_engine_pkg::*;
#(
    parameter int unsigned Rows = 4
) (
    input logic    clk_i,
    input logic    rst_ni,
    input load_t   load_i,
    input tick_t   now_i,
    input logic    result_valid_i,
    input result_t result_i,
    input logic    hold_i,
    input logic    read_i
);
  logic read_valid, late;
  logic [47:0] read;
  row_t row;
  logic [2:0] watched;
  logic [4:0] word_;
  session_rows #(
      .Rows(Rows)
  ) one (
      .clk_i,
      .rst_ni,
      .load_i,
      .start_i       (1'b0),
      .now_i,
      .clear_i       (1'b0),
      .clear_place_i ('0),
      .result_valid_i,
      .result_i,
      .hold_i,
      .read_i,
      .read_row_i    (28'(watched)),
      .read_word_i   (word_),
      .read_valid_o  (read_valid),
      .read_o        (read),
      .row_o         (row),
      .late_o        (late)
  );

  // The load and what is watched do not change.
  logic begun_q = 1'b0;
  logic each_q, hold_q;
  tick_t first_q, now_q;
  logic [31:0] ticks_q;
  always_ff @(posedge clk_i) begin
    watched <= watched;
    word_   <= word_;
    begun_q <= 1'b1;
    each_q  <= load_i.each;
    hold_q  <= hold_i;
    first_q <= load_i.row_first;
    ticks_q <= load_i.row_ticks;
    now_q   <= now_i;
  end

  function automatic tick_t start_of(input row_t number);
    return load_i.row_first + (number[0] ? 48'(load_i.row_ticks) : '0) + (number[1] ? 48'(load_i.row_ticks) << 1 : '0)
      + (number[2] ? 48'(load_i.row_ticks) << 2 : '0) + (number[3] ? 48'(load_i.row_ticks) << 3 : '0);
  endfunction

  // A result, a cycle later.
  logic came_q;
  tick_t end_q;
  result_t result_q;
  wire tick_t end_ = result_i.due + 48'(result_i.done);
  wire [31:0] net = result_q.done - result_q.sent;
  wire [31:0] first = result_q.first - (load_i.each ? result_q.connected : result_q.sent);
  logic [47:0] value;
  always_comb begin
    unique case (word_)
      5'd16:   value = 48'(result_q.done);
      5'd17:   value = 48'(net);
      5'd18:   value = 48'(first);
      default: value = 48'(result_q.size);
    endcase
    if (word_ < 5'd16) value = 48'({1'b0, result_q.outcome} == word_);
    else if (result_q.outcome != OutcomeDone) value = '0;
  end
  wire is_late = end_q < (row == '0 ? load_i.row_first : start_of(row - 28'd1));
  wire is_of_row = end_q >= start_of(28'(watched)) && end_q < start_of(28'(watched) + 28'd1);
  wire counts = came_q && (is_late ? row == 28'(watched) + 28'd1 : is_of_row);
  logic [47:0] want;
  logic late_q;
  logic [2:0] free_q, quiet_q;  // cycles without a result: since sums came, and up to now
  always_ff @(posedge clk_i) begin
    came_q   <= result_valid_i && !hold_q && rst_ni;
    end_q    <= end_;
    result_q <= result_i;
    late_q   <= came_q && is_late;
    if (counts) want <= want + value;
    if (!result_valid_i && free_q != '1) free_q <= free_q + 3'd1;
    if (result_valid_i && result_i.outcome == OutcomeDone) free_q <= '0;
    quiet_q <= result_valid_i ? '0 : quiet_q + 3'(quiet_q != '1);
  end

  always_comb begin
    assume (rst_ni);
    assume (load_i.row_ticks != '0 && load_i.row_ticks[31:3] == '0 && load_i.row_first[47:4] == '0 && now_i[47:6] == '0);
    assume (word_ < 5'd20);
    if (!begun_q) begin
      assume (one.row_q == '0 && one.start_q == load_i.row_first && one.before_q == load_i.row_first);
      assume (one.next_q == load_i.row_first + 48'(load_i.row_ticks) && now_i < one.next_q && !one.hold_q);
      assume (!one.valid_q && one.left_q == '0 && !one.adding_q && !one.reading_q && !one.read_valid_o && !one.late_o);
      assume (!one.then_adding_q && !one.then_reading_q && !one.again_q && !one.again2_q);
      assume (!one.now_again_q && !one.now_again2_q);
      assume (one.memory[{watched[$clog2(Rows)-1:0], word_}].tag == '1);
      assume (!came_q && want == '0 && !late_q && free_q == '1 && quiet_q == '1 && !hold_q);
    end else begin
      assume (each_q == load_i.each && first_q == load_i.row_first && ticks_q == load_i.row_ticks && now_i == now_q + 48'd1);
      assume (hold_i || !hold_q);
    end
    if (result_valid_i) begin
      assume (result_i.due[47:6] == '0 && end_ <= now_i && result_i.done[31:5] == '0 && result_i.sent <= result_i.done);
      assume (result_i.first[31:5] == '0 && result_i.connected <= result_i.first && result_i.sent <= result_i.first);
      assume (result_i.size[27:5] == '0);
      if (result_i.outcome != OutcomeMissed) assume (free_q >= 3'd5);
    end
    if (begun_q) begin
      if (read_valid && quiet_q == '1 && row < 28'(watched) + 28'(Rows)) rule_1 : assert (read == want);
      rule_2 : assert (late == late_q);
    end
    cover_sum : cover (begun_q && read_valid && quiet_q == '1 && word_ == 5'd17 && watched == 3'd1 && want > 48'd5 && read == want);
    cover_again : cover (begun_q && read_valid && quiet_q == '1 && want == 48'd3 && watched == 3'd2 && row == 28'd3);
    cover_late : cover (begun_q && late);
  end
endmodule
