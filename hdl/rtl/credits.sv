// Lets the host send as much as there is room for, and no more, so that nothing is dropped between host and module. A credit is room for one
// beat. At the start, and after `revoke_i`, all credits are the module's; it grants them; the host uses one for each beat of a frame; a
// beat that leaves the queue frees its credit, and it is granted again.
//
//        grant               use                 free
//   free ─────► outstanding ─────► held (queue) ─────► free
//
// A frame for which the host has no credits is refused whole, and counted by who looks at `refused_o`.
//
// Grants are not taken in a cycle in which a frame asks: two sums behind each other would be too long for one.
//
// `revoke_i` takes back what is outstanding (the host vanished, or began anew). A grant that is offered at the time stays; a frame that asks at the time is
// refused.
//
// Rules (formal/credits_rules.sv): 1 none lost: free + offered + outstanding + held = Capacity, always; 2 never overrun: the held are at most
// Capacity, and a frame is refused if and only if it needs more than is outstanding, or all is taken back at the time; 3 the rules of streams for grants.
module credits #(
    parameter int unsigned Capacity = 2048,
    localparam int unsigned Width = $clog2(Capacity + 1)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             revoke_i,
    output logic             grant_valid_o,
    input  logic             grant_ready_i,
    output logic [Width-1:0] grant_o,
    // A frame of so many beats asks to come in.
    input  logic             use_valid_i,
    input  logic [Width-1:0] use_i,
    output logic             refused_o,
    output logic [Width-1:0] outstanding_o,
    // A beat left.
    input  logic             free_i
);
  logic [Width-1:0] free_q, offered_q, outstanding_q;

  assign grant_valid_o = offered_q != 0;
  assign grant_o       = offered_q;
  assign outstanding_o = outstanding_q;
  // What is left says, by its sign, whether it is refused.
  wire [Width:0] left = {1'b0, outstanding_q} - {1'b0, use_i};
  assign refused_o     = use_valid_i && (left[Width] || revoke_i);

  wire granted = grant_valid_o && grant_ready_i;
  wire offer = !grant_valid_o && free_q != 0;
  wire [Width-1:0] more = outstanding_q + (grant_ready_i ? offered_q : '0);  // if nothing is offered, it is 0
  wire [Width-1:0] back = revoke_i ? outstanding_q : '0;
  // free_i is the carry into one sum.
  wire [Width:0] all = {offer ? '0 : free_q, 1'b1} + {back, free_i};

  always_ff @(posedge clk_i) begin
    free_q        <= all[Width:1];
    if (revoke_i) outstanding_q <= granted ? offered_q : '0;
    else if (!use_valid_i) outstanding_q <= more;
    else if (!left[Width]) outstanding_q <= left[Width-1:0];
    if (offer) offered_q <= free_q;
    else if (granted) offered_q <= '0;
    if (!rst_ni) begin
      free_q        <= Width'(Capacity);
      offered_q     <= '0;
      outstanding_q <= '0;
    end
  end
endmodule
