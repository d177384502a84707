// Sixteen counters in one small memory; an adder and a register for each would cost 800 LUTs. Events come at
// most once per frame. Each waits in a bit of its own until its counter's turn, within 32 cycles. The same
// event twice in that time counts once, so the user waits for `waiting_o`, unless its events are further apart.
//
// `value_o` shows counter `at_i` two cycles after `read_i`, and holds it. 32 bits wrap after 48 minutes if each
// frame of 64 bytes at 1 Gb/s has an event.
//
// Rules:
//   1 an event counts once if it comes while its bit is not waiting;
//   2 after `clear_i` all counters are 0.
module host_counters (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,
    input  logic [15:0] count_i,
    output logic [15:0] waiting_o,
    input  logic        read_i,
    input  logic [3:0]  at_i,
    output logic [31:0] value_o
);
  logic [31:0] counts[16];
  logic [15:0] waiting_q;
  logic [3:0] turn_q;
  logic [4:0] sweep_q;  // clears one counter per cycle
  // Three cycles: select, read, write. A counter's next turn is at least 16 cycles later.
  logic [3:0] place_q, place2_q;
  logic read_q, counts_q, counts2_q, sweep1_q, sweep2_q;
  logic [31:0] value_q;

  wire sweeping = !sweep_q[4];
  wire takes = !read_i && !sweeping;

  assign waiting_o = waiting_q;

  always_ff @(posedge clk_i) begin
    if (counts2_q || sweep2_q) counts[place2_q] <= value_q + 32'(!sweep2_q);
  end

  always_ff @(posedge clk_i) begin
    place_q  <= sweeping ? sweep_q[3:0] : read_i ? at_i : turn_q;
    read_q   <= read_i;
    counts_q <= takes && waiting_q[turn_q];
    sweep1_q <= sweeping;

    value_q   <= sweep1_q ? '0 : counts[place_q];
    place2_q  <= place_q;
    counts2_q <= counts_q;
    sweep2_q  <= sweep1_q;
    if (read_q) value_o <= sweep1_q ? '0 : counts[place_q];

    waiting_q <= waiting_q | count_i;
    if (takes) begin
      turn_q <= turn_q + 1'b1;
      waiting_q[turn_q] <= count_i[turn_q];
    end
    if (sweeping) sweep_q <= sweep_q + 1'b1;
    if (clear_i) sweep_q <= '0;
    if (!rst_ni) begin
      waiting_q <= '0;
      turn_q    <= '0;
      sweep_q   <= '0;
      counts_q  <= 1'b0;
      counts2_q <= 1'b0;
      sweep1_q  <= 1'b0;
      sweep2_q  <= 1'b0;
    end
  end
endmodule
