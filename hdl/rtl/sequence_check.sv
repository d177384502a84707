// Derives from the sequence numbers of each of 32 streams how many frames are missing, and how many came out of
// order or twice.
//
//   number        meaning
//   as expected   no error
//   greater       the skipped frames are missing; the next number is expected after it
//   smaller       this frame was missing before, or is a duplicate: counted as `stale`, nothing else changes
//
// So missing - stale is the loss of a network that may reorder frames but does not duplicate them. The first
// frame of a stream after `clear_i` is correct whatever its number, and so are the frames in the 32 cycles
// after it.
//
// At most one frame every three cycles. Numbers are compared modulo 2^40 (8 days at 1 488 095/s); a jump of
// more than half of that counts as smaller.
//
// Rules (simulated):
//   1 the output is that of the table.
module sequence_check (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,
    input  logic        valid_i,
    input  logic [4:0]  stream_i,
    input  logic [39:0] sequence_i,
    // Valid three cycles later, for one cycle.
    output logic        valid_o,
    output logic [4:0]  stream_o,
    output logic        stale_o,
    output logic [39:0] missing_o,
    // The place cleared by the sweep after `clear_i`; bit 5: none.
    output logic [5:0]  sweep_o
);
  // The top bit says that the stream is known; a sweep clears all of them.
  logic [40:0] expected[32];
  logic [5:0] sweep_q;
  wire sweeping = !sweep_q[5];
  assign sweep_o = sweep_q;
  logic valid1_q, valid2_q, known1_q, fresh2_q;
  logic [4:0] stream1_q, stream2_q;
  logic [39:0] sequence1_q, expected1_q, ahead2_q, sequence2_q;

  wire write = valid2_q && (!ahead2_q[39] || fresh2_q);
  wire [4:0] place = sweeping ? sweep_q[4:0] : stream2_q;

  always_ff @(posedge clk_i) begin
    if (write || sweeping) expected[place] <= {!sweeping, sequence2_q + 1'b1};
  end

  always_ff @(posedge clk_i) begin
    valid1_q    <= valid_i;
    stream1_q   <= stream_i;
    sequence1_q <= sequence_i;
    {known1_q, expected1_q} <= expected[stream_i];

    valid2_q    <= valid1_q;
    stream2_q   <= stream1_q;
    sequence2_q <= sequence1_q;
    ahead2_q    <= sequence1_q - expected1_q;
    fresh2_q    <= !known1_q || sweeping;

    valid_o   <= valid2_q;
    stream_o  <= stream2_q;
    stale_o   <= ahead2_q[39] && !fresh2_q;
    missing_o <= ahead2_q[39] || fresh2_q ? '0 : ahead2_q;

    if (sweeping) sweep_q <= sweep_q + 1'b1;
    if (clear_i || !rst_ni) sweep_q <= '0;
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
      valid_o  <= 1'b0;
    end
  end
endmodule
