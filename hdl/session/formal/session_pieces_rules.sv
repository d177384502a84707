// Rules of session_pieces. What a piece is, is kept in numbers wide enough never to wrap, and the host's
// promises are assumed: the slack is below the modulus, the sum of eight is right, and the rate is between none
// and one departure a tick in every tick. The proof is by induction over one step, of one tick or of eight, so
// it holds for any number.
//
//   1 slack is below the modulus, and is what it was at first, plus the modulus for each departure found, less
//     the integral over all ticks of the piece so far;
//   2 the integral over the k-th tick is each + k * change, and over the first k ticks
//     k * each + change * k * (k - 1) / 2, `each` rising with each repetition;
//   3 a due time is the tick in which the departure was found; none that was not taken is below the horizon.
//
// By 1 and 2, in every tick in which a step begins, the departures found are those of the closed form: the one
// number for which slack is from 0 to modulus - 1. That number never falls, so a step of eight ticks without
// one has none in it.
//
// With a small Width the products of rule 2 are made as written, modulo 2^8, and so low rates have no step of
// eight ticks but the one in which nothing changes. With a large one each step adds its integral: that of a
// tick, or of eight, which is 8 * each + 28 * change.
module session_pieces_rules
  import session_engine_pkg::*;
#(
    parameter int unsigned Width = 64,
    localparam bit Multiply = Width < 8
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             set_i,
    input logic             run,
    input logic             load,
    input logic             loaded,
    input logic [4:0]       word_q,
    input logic [1:0][4:0]  came_q,
    input logic             moves,
    input logic             due,
    input logic             last,
    input logic             valid_o,
    input logic             ready_i,
    input tick_t            due_o,
    input tick_t            horizon_o,
    input tick_t            position_q,
    input tick_t            ticks_q,
    input tick_t            span_q,
    input logic [Width-1:0] slack_q,
    input logic [Width-1:0] each_q,
    input logic [Width-1:0] eight_q,
    input logic [Width-1:0] rest_q,
    input logic [Width-1:0] change_q,
    input logic [Width-1:0] rise_q,
    input logic [31:0]      repeats_q
);
  localparam int unsigned W = Width + 8;
  typedef logic signed [W-1:0] wide_t;
  reset_rules reset (.clk_i, .rst_ni);

  function automatic wide_t wide(input logic [Width-1:0] value);
    return wide_t'({1'b0, value});
  endfunction
  wire wide_t change = wide_t'($signed(change_q));
  wire wide_t modulus = wide(each_q) + wide(rest_q);  // where a piece begins
  // Of the piece.
  wide_t modulus_q, rate_q, debt_q, change_kept_q, rise_kept_q, more_q;  // more: of eight ticks, 28 * change
  logic run_q;

  // What the host promises of a piece, and of each tick of it.
  wire wide_t then_ = rate_q + 7 * change_kept_q;
  always_comb begin
    if (loaded) begin
      assume (modulus > 0 && modulus <= wide_t'(1) <<< (Width - 4));
      assume (wide(slack_q) < modulus);
      assume (each_q <= modulus[Width-1:0]);
      assume (eight_q == (each_q << 3) + 28 * change_q);
      assume (ticks_q != '0 && span_q == ticks_q);
      assume (repeats_q == '0 || change_q == '0);
      assume (wide(rise_q) <= modulus);
    end
    if (run_q) begin
      assume (rate_q >= 0 && rate_q <= modulus_q);
      if (ticks_q >= 48'd8) assume (then_ >= 0 && then_ <= modulus_q);
    end
    // 26 days are not over.
    assume (!set_i || !run && !load && !valid_o);
    assume (position_q < 48'h7fff_ffff_ff00);
  end

  // One departure, in units of the modulus, and the integral over the ticks of this step, by the definition.
  wire many = ticks_q >= 48'd8 && (rate_q <<< 3) + more_q <= debt_q;
  wire wide_t integral = many ? (rate_q <<< 3) + more_q : rate_q;
  wire again = last && repeats_q != '0;
  logic found_q, rested_q;
  tick_t position_then_q;
  always_ff @(posedge clk_i) begin
    run_q <= loaded || run_q && run && !(moves && last && !again);
    if (run && moves) begin
      debt_q <= debt_q - integral + (due ? modulus_q : '0);
      rate_q <= again ? rate_q + rise_kept_q : rate_q + (many ? change_kept_q <<< 3 : change_kept_q);
    end
    if (loaded) begin
      modulus_q     <= modulus;
      rate_q        <= wide(each_q);
      debt_q        <= wide(slack_q);
      change_kept_q <= change;
      rise_kept_q   <= wide(rise_q);
      more_q        <= 28 * change;
    end
    found_q         <= run && moves && due && rst_ni;
    rested_q        <= valid_o && !ready_i && rst_ni;
    position_then_q <= position_q;
    if (!rst_ni) run_q <= 1'b0;
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= rst_ni;
  always_comb begin
    if (past_q && run && run_q) begin
      rule_1a : assert (debt_q >= 0 && debt_q < modulus_q);
      rule_1b : assert (debt_q == wide(slack_q));
      rule_2a : assert (rate_q == wide(each_q));
      // Meaning of the registers.
      assert (rest_q == Width'(modulus_q - rate_q));
      assert (eight_q == Width'((rate_q <<< 3) + more_q));
      assert (change_kept_q == change && rise_kept_q == wide(rise_q) && ticks_q != '0 && span_q != '0);
      assert (repeats_q == '0 || change_q == '0);
      assert (more_q == 28 * change_kept_q);
      assert (modulus_q > 0 && modulus_q <= wide_t'(1) <<< (Width - 4));
    end
    if (past_q && found_q) begin
      rule_3a : assert (valid_o && due_o == position_then_q);
    end
    if (past_q) begin
      rule_3b : assert (horizon_o <= position_q && (!valid_o || horizon_o <= due_o));
      assert (!valid_o || due_o < position_q);
      // Words come while a piece is loaded, the last one with nothing behind it.
      assert (load || came_q == {2{5'd16}});
      assert (came_q[1] != 5'd15 || came_q[0] == 5'd16 && word_q == 5'd16);
      assert (came_q[0] != 5'd15 || word_q == 5'd16);
      assert (!load || word_q <= 5'd16);
    end
  end

  // The closed form, where products can be made.
  if (Multiply) begin : gen_closed
    localparam int unsigned K = 8;
    typedef logic [K-1:0] small_t;
    small_t k_q, each_at_first_q, twice_q;  // ticks, and twice the integral over them
    always_ff @(posedge clk_i) begin
      if (run && moves) begin
        k_q     <= k_q + (many ? small_t'(8) : small_t'(1));
        twice_q <= twice_q + small_t'(2 * integral);
        if (again) begin
          k_q             <= '0;
          twice_q         <= '0;
          each_at_first_q <= each_at_first_q + small_t'(rise_kept_q);
        end
      end
      if (loaded) begin
        k_q             <= '0;
        twice_q         <= '0;
        each_at_first_q <= small_t'(wide(each_q));
      end
    end
    always_comb begin
      if (past_q && run && run_q) begin
        rule_2b : assert (small_t'(rate_q) == each_at_first_q + k_q * small_t'(change_kept_q));
        rule_2c : assert (twice_q == k_q * (each_at_first_q << 1) + small_t'(change_kept_q) * k_q * (k_q - small_t'(1)));
      end
    end
  end

  // A step of eight ticks, a departure on a rate that changes, and a staircase's next step.
  logic [1:0] seen_q;
  always_ff @(posedge clk_i) begin
    if (run && moves && many) seen_q[0] <= 1'b1;
    if (run && moves && again) seen_q[1] <= 1'b1;
    if (!rst_ni) seen_q <= '0;
  end
  always_comb begin
    if (past_q) begin
      if (!Multiply) begin
        cover_many : cover (seen_q[0] && run && moves && due && change_kept_q < 0);
      end
      cover_again : cover (seen_q[1] && run && moves && due);
    end
  end
endmodule

bind session_pieces session_pieces_rules #(.Width(Width)) rules (
    .run(state_q == Run),
    .load(state_q == Load),
    .loaded(state_q == Load && came_q[1] == Words - 5'd1),
    .*
);
