// The due times of departures, some of them ahead: computed from the pieces of a rate (session_pieces), or
// listed by the host, which feeds them through `due_i`.
//
// `wait_o` is the number of cycles until the next one, 0 from the cycle in which it is due, and at most 65 535.
// With `valid_o` it is that of `due_o`. With `known_o` alone the next due time has not been found yet, and
// nothing is due for so long. Both are low for three cycles after `next_i`.
module session_schedule
  import session_engine_pkg::*;
#(
    parameter int unsigned Guard = 40
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  tick_t       now_i,
    // The pieces, before the start.
    input  logic        piece_write_i,
    input  logic [8:0]  piece_place_i,
    input  logic [31:0] piece_word_i,
    input  logic        set_i,
    input  tick_t       first_i,
    input  logic [31:0] number_i,
    input  logic [5:0]  pieces_i,   // 0: the due times are listed
    // The list: ticks that do not descend.
    input  logic        due_valid_i,
    output logic        due_ready_o,
    input  tick_t       due_i,
    output logic        known_o,
    output logic        valid_o,
    output logic        over_o,
    output tick_t       due_o,
    output logic [15:0] wait_o,
    output logic        near_o,     // wait_o is below Guard
    output logic        now_o,      // wait_o is 0
    input  logic        next_i
);
  (* no_rw_check *) logic [31:0] words[512];
  logic [31:0] fetched_q, word_q;
  logic [8:0] place;
  always_ff @(posedge clk_i) begin
    if (piece_write_i) words[piece_place_i] <= piece_word_i;
    fetched_q <= words[place];
    word_q    <= fetched_q;
  end

  wire listed = pieces_i == '0;
  logic found, room, ended;
  tick_t found_at, horizon;
  session_pieces pieces (
      .clk_i,
      .rst_ni,
      .set_i,
      .first_i,
      .number_i,
      .pieces_i,
      .place_o  (place),
      .word_i   (word_q),
      .valid_o  (found),
      .ready_i  (room),
      .due_o    (found_at),
      .horizon_o(horizon),
      .ended_o  (ended)
  );

  logic head_valid, none;
  stream_fifo #(
      .T    (tick_t),
      .Depth(512)
  ) queue (
      .clk_i,
      .rst_ni,
      .valid_i(listed ? due_valid_i : found),
      .ready_o(room),
      .data_i (listed ? due_i : found_at),
      .valid_o(head_valid),
      .ready_i(next_i),
      .data_o (due_o),
      .empty_o(none)
  );
  assign due_ready_o = listed && room;

  logic [31:0] left_q;
  logic over_q;
  tick_t ahead_q;          // of what is next - now, in the next cycle but one
  logic far_q;
  logic [15:0] wait_q;     // the same in the next cycle
  logic [2:0] known_q, valid_q;
  wire far = !head_valid && (listed || ended && !found);

  // A cycle late, in which nothing is known.
  assign over_o  = over_q;
  assign known_o = known_q[2];
  assign valid_o = valid_q[2] && !over_o;

  always_ff @(posedge clk_i) begin
    over_q  <= left_q == '0;
    // It passes three registers.
    ahead_q <= (head_valid ? due_o : horizon) - now_i - 48'd3;
    far_q   <= far;
    wait_q  <= far_q ? '1 : ahead_q[47] ? '0 : |ahead_q[46:16] ? '1 : ahead_q[15:0];
    wait_o  <= wait_q;
    near_o  <= wait_q < 16'(Guard);
    now_o   <= wait_q == '0;
    known_q <= {known_q[1:0], head_valid || none};
    valid_q <= {valid_q[1:0], head_valid};
    if (next_i) begin
      left_q  <= left_q - 32'd1;
      known_q <= '0;
      valid_q <= '0;
    end
    if (set_i) begin
      left_q  <= number_i;
      known_q <= '0;
      valid_q <= '0;
    end
    if (!rst_ni) begin
      left_q  <= '0;
      known_q <= '0;
      valid_q <= '0;
    end
  end
endmodule
