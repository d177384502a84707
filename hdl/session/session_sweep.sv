// Looks for sessions whose timers have run out. It reads the record of one session after another, in each cycle in which
// the engine does not need the memory's port, and stops at one that is late until that is taken.
//
// So with N sessions in use, and none late, a round takes N cycles and those that the engine took: under full load
// it takes four of the 15 to 24 cycles of an event, so a round is at most 1.4 N cycles (92 us for 8 192 sessions).
module session_sweep
  import tcp_spec_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        enable_i,
    input  logic [13:0] sessions_i,
    input  logic [31:0] millis_i,
    input  logic        free_i,      // `place_o` is read in this cycle
    output index_t      place_o,
    input  session_t    record_i,    // two cycles later
    output logic        valid_o,
    input  logic        ready_i,
    output index_t      late_o,
    output logic        round_o      // a round is complete
);
  logic [2:0] valid_q;
  index_t [2:0] place_q;
  logic answer_late_q, limit_late_q, deadline_late_q;

  wire issue = enable_i && free_i && !valid_o;
  wire last = 14'(place_o) + 14'd1 >= sessions_i;
  wire late = valid_q[2] && (answer_late_q || limit_late_q || deadline_late_q);

  always_ff @(posedge clk_i) begin
    round_o <= issue && last;
    valid_q <= {valid_q[1:0], issue};
    place_q <= {place_q[1:0], place_o};
    answer_late_q   <= record_i.flags.ack_due && !precedes(millis_i, record_i.ack_by);
    limit_late_q    <= record_i.flags.limited && !precedes(millis_i, record_i.limit);
    deadline_late_q <= record_i.flags.timed && !precedes(millis_i, record_i.deadline);
    if (issue) place_o <= last ? '0 : place_o + 13'd1;
    if (valid_o && ready_i) valid_o <= 1'b0;
    if (late && !valid_o) begin
      valid_o <= 1'b1;
      late_o  <= place_q[2];
      // Those behind it are read again.
      place_o <= 14'(place_q[2]) + 14'd1 >= sessions_i ? '0 : place_q[2] + 13'd1;
      valid_q <= '0;
      round_o <= 1'b0;
    end
    if (!rst_ni) begin
      valid_q <= '0;
      valid_o <= 1'b0;
      place_o <= '0;
    end
  end
endmodule
