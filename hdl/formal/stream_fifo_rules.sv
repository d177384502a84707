// Rules of stream_fifo. The solver chooses one transfer, which is followed from input to output: it is `place`
// transfers behind the output.
module stream_fifo_rules #(
    parameter int unsigned Bits  = 8,
    localparam type        T     = logic [Bits-1:0],
    parameter int unsigned Depth = 4,
    parameter bit          Rests = 1'b0,
    localparam int unsigned Width = $clog2(Depth)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic valid_i,
    input logic ready_o,
    input T     data_i,
    input logic valid_o,
    input logic ready_i,
    input T     data_o,
    input logic empty_o,
    input logic [Width-1:0] write_q,
    input logic [Width-1:0] read_q,
    input logic [Width:0] stored_q,
    input T     fetched_q,
    input T     out_q,
    input logic fetched_valid_q,
    input logic out_valid_q,
    input logic full_q,
    input logic some_q,
    input T     memory[Depth]
);
  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width(Bits)) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i);
  stream_rules #(.Assume(1'b0), .Width(Bits)) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(data_o));

  wire entered = valid_i && ready_o;
  wire left = valid_o && ready_i;

  logic [Width+1:0] held;
  logic following_q;
  logic [Width+1:0] ahead_q;
  T watched_q;
  logic [3:0] run_q;  // consecutive transfers; with Rests, in every other cycle
  logic left_q;
  (* anyseq *) logic follow_any;
  wire follow = follow_any && entered && !following_q;

  always_ff @(posedge clk_i) begin
    held <= held + (Width + 2)'(entered) - (Width + 2)'(left);
    if (follow) begin
      following_q <= 1'b1;
      ahead_q     <= held - (Width + 2)'(left);
      watched_q   <= data_i;
    end else if (following_q && left) begin
      if (ahead_q == 0) following_q <= 1'b0;
      else ahead_q <= ahead_q - 1'b1;
    end
    left_q <= left;
    run_q  <= left ? run_q + 4'(run_q != '1) : Rests && left_q ? run_q : '0;
    if (!rst_ni) begin
      held      <= '0;
      following_q <= 1'b0;
      ahead_q     <= '0;
      run_q       <= '0;
      left_q      <= 1'b0;
    end
  end

  // The position of the watched transfer.
  wire [Width+1:0] in_front = (Width + 2)'(fetched_valid_q) + (Width + 2)'(out_valid_q);
  wire [Width-1:0] slot = read_q + Width'(ahead_q - in_front);

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= rst_ni;

  always_comb begin
    if (past_q) begin
      if (following_q && left && ahead_q == 0) rule_2 : assert (data_o == watched_q);
      rule_3 : assert (empty_o == (held == 0));
      assert (held == (Width + 2)'(stored_q) + in_front);
      assert (stored_q <= (Width + 1)'(Depth));
      assert (some_q == (stored_q != 0) && full_q == (stored_q == (Width + 1)'(Depth)));
      assert (write_q == read_q + Width'(stored_q));
      if (following_q) begin
        assert (ahead_q < held);
        if (ahead_q == 0 && out_valid_q) assert (out_q == watched_q);
        else if (ahead_q < in_front) assert (fetched_q == watched_q);
        else assert (memory[slot] == watched_q);
      end
      // Full rate for longer than the memory, and a full queue.
      cover (run_q == 7);
      cover (following_q && left && ahead_q == 0 && run_q == 2);
      cover (full_q && out_valid_q && fetched_valid_q);
    end
  end
endmodule

bind stream_fifo stream_fifo_rules #(.Bits($bits(T)), .Depth(Depth), .Rests(Rests)) rules (.*);
