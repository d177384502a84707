// Sixteen counters in one small memory: an adder and a register for each would cost eight hundred LUTs, and what is counted here happens at
// most once in a frame. An event waits in a bit of its own until its counter's turn comes, within 32 cycles; the same event twice in that time
// counts once, so who counts waits for `waiting_o`, or has events that are further apart.
//
// `value_o` is the counter `at_i` two cycles after `read_i`, and stays. 32 bits: an event in each frame of 64 bytes at 1 Gb/s wraps after 48 minutes.
//
// Rules: 1 each event counts once if it comes when its bit is not waiting; 2 after `clear_i` all are 0.
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
  logic [4:0] sweep_q;  // clears all, one in each cycle
  // Three cycles: whose turn it is, what it has, what it gets. A turn comes again after 16 cycles at the earliest.
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
