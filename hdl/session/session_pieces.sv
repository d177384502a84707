// Due times of a rate that is made of pieces, on each of which it changes evenly or not at all: even gaps,
// ramps, stages, steps. The n-th departure, from 0, is due in the tick k with
//
//   N(k) <= n < N(k + 1)            N(k): the integral of the rate over the first k ticks
//
// so k = floor(sup { t : N(t) <= n }), which is what `schedule` has for these shapes, in ticks. All is in units
// of 1 / modulus of a departure, in which the integral over a tick is a whole number on a whole piece:
//
//   each(k)  = N(k + 1) - N(k)      of the piece's k-th tick: each(0) + k * change
//   slack(k) = ceil(N(k)) - N(k)    what is left until the next departure is due: 0 to modulus - 1
//
// A departure is due in the tick if each(k) > slack(k). Where none is due in eight ticks they are one step, so
// the due times are found faster than they pass. On a piece with `repeats`, `change` is 0; when its ticks have
// passed, `each` rises by `rise`, and they pass again: the steps of a staircase.
//
// A piece is 16 words of 32 bits, each number with its lower word first: ticks (48 bits), slack, each, the sum
// of the first eight (8 * each + 28 * change), rest (modulus - each), change (signed), rise, repeats. The
// modulus must be at most 2^(Width - 4), and the rate at most one departure a tick.
//
// `horizon_o` is a tick before which all due times have been taken.
//
// Rules (formal/session_pieces_rules.sv):
//   1 slack is below the modulus, and is what it was at first, plus the modulus for each departure found, less
//     `each` of all ticks so far: so the departures found before tick k are ceil(N(k));
//   2 `each` of a piece's k-th tick is each(0) + k * change, and their sum
//     k * each(0) + change * k * (k - 1) / 2;
//   3 a due time is the tick in which it was found, and none is below the horizon.
module session_pieces
  import session_engine_pkg::*;
#(
    parameter int unsigned Width = 64
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        set_i,
    input  tick_t       first_i,
    input  logic [31:0] number_i,
    input  logic [5:0]  pieces_i,
    output logic [8:0]  place_o,    // read two cycles later
    input  logic [31:0] word_i,
    output logic        valid_o,
    input  logic        ready_i,
    output tick_t       due_o,
    output tick_t       horizon_o,
    output logic        ended_o     // no more are due
);
  localparam logic [4:0] Words = 5'd16;

  typedef logic [Width-1:0] part_t;
  typedef enum logic [1:0] {
    Off,
    Load,
    Run
  } state_e;

  state_e state_q;
  logic [5:0] piece_q;
  logic [4:0] word_q;       // that is read
  logic [1:0][4:0] came_q;  // that of `word_i`, two cycles behind
  logic [31:0] left_q;      // departures
  tick_t position_q;
  // Of the piece.
  tick_t span_q, ticks_q;  // all ticks, and those left
  part_t slack_q, each_q, eight_q, rest_q, change_q, rise_q;
  logic [31:0] repeats_q;

  assign place_o = {piece_q[4:0], word_q[3:0]};
  assign ended_o = state_q == Off;

  wire moves = state_q == Run && (!valid_o || ready_i);
  // All that a step may lead to, for eight ticks and for one, while it is found which of these it is.
  wire [Width:0] less_eight = {1'b0, slack_q} - {1'b0, eight_q};
  wire [Width:0] less_each = {1'b0, slack_q} - {1'b0, each_q};
  wire part_t more = slack_q + rest_q;
  wire many = ticks_q[47:3] != '0 && !less_eight[Width];
  wire due = !many && less_each[Width];
  wire repeated = repeats_q != '0;
  wire last_of_many = ticks_q == 48'd8;
  wire last_of_one = ticks_q == 48'd1;
  wire last = many ? last_of_many : last_of_one;
  wire again = last && repeated;
  wire part_t delta_of_many = last_of_many && repeated ? rise_q : change_q << 3;
  wire part_t delta_of_one = last_of_one && repeated ? rise_q : change_q;

  always_ff @(posedge clk_i) begin
    came_q <= {came_q[0], state_q == Load ? word_q : Words};
    if (!valid_o || ready_i) horizon_o <= position_q;
    if (ready_i) valid_o <= 1'b0;

    unique case (state_q)
      Load: begin
        if (word_q != Words) word_q <= word_q + 5'd1;
        if (came_q[1] == Words - 5'd1) state_q <= Run;
      end
      Run:
      if (moves) begin
        position_q <= position_q + (many ? 48'd8 : 48'd1);
        ticks_q    <= again ? span_q : ticks_q - (many ? 48'd8 : 48'd1);
        slack_q    <= many ? less_eight[Width-1:0] : less_each[Width] ? more : less_each[Width-1:0];
        each_q     <= many ? each_q + delta_of_many : each_q + delta_of_one;
        rest_q     <= many ? rest_q - delta_of_many : rest_q - delta_of_one;
        eight_q    <= many ? eight_q + (delta_of_many << 3) : eight_q + (delta_of_one << 3);
        if (again) repeats_q <= repeats_q - 32'd1;
        if (due) begin
          valid_o <= 1'b1;
          due_o   <= position_q;
          left_q  <= left_q - 32'd1;
        end
        if (last && !again) begin
          piece_q <= piece_q + 6'd1;
          word_q  <= '0;
          state_q <= piece_q + 6'd1 == pieces_i ? Off : Load;
        end
        if (due && left_q == 32'd1) state_q <= Off;
      end
      default: ;
    endcase

    unique case (came_q[1])
      5'd0:  span_q[31:0] <= word_i;
      5'd1: begin
        span_q[47:32] <= word_i[15:0];
        ticks_q       <= {word_i[15:0], span_q[31:0]};
      end
      5'd2:  slack_q <= part_t'(word_i);
      5'd3:  slack_q <= part_t'({word_i, 32'(slack_q)});
      5'd4:  each_q <= part_t'(word_i);
      5'd5:  each_q <= part_t'({word_i, 32'(each_q)});
      5'd6:  eight_q <= part_t'(word_i);
      5'd7:  eight_q <= part_t'({word_i, 32'(eight_q)});
      5'd8:  rest_q <= part_t'(word_i);
      5'd9:  rest_q <= part_t'({word_i, 32'(rest_q)});
      5'd10: change_q <= part_t'(word_i);
      5'd11: change_q <= part_t'({word_i, 32'(change_q)});
      5'd12: rise_q <= part_t'(word_i);
      5'd13: rise_q <= part_t'({word_i, 32'(rise_q)});
      5'd14: repeats_q <= word_i;
      default: ;
    endcase

    if (set_i) begin
      state_q    <= pieces_i == '0 ? Off : Load;
      piece_q    <= '0;
      word_q     <= '0;
      left_q     <= number_i;
      position_q <= first_i;
      horizon_o  <= first_i;
    end
    if (!rst_ni) begin
      state_q <= Off;
      came_q  <= {2{Words}};
      valid_o <= 1'b0;
    end
  end
endmodule
